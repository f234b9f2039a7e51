#include "agent/output/line_merger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace ddprun {

namespace {

/// This many lines with the same words are looked at: a rank that has left out more of them is
/// taken to say something new.
constexpr int kCandidatesMax = 8;

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

/// What a group takes besides its texts.
constexpr std::size_t kGroupBytes = 384;

bool intersect(const LineMerger::Ranks& a, const LineMerger::Ranks& b) {
  return std::ranges::any_of(a, [&](int rank) { return b.contains(rank); });
}

/// The group of this number, in a queue where numbers follow each other; nullptr when it is not
/// there.
template <typename Groups>
auto* group_of(Groups& groups, std::uint64_t number) {
  const bool there = !groups.empty() && number >= groups.front().number &&
                     number - groups.front().number < groups.size();
  return there ? &groups[number - groups.front().number] : nullptr;
}

}  // namespace

bool FoldedLine::operator==(const FoldedLine& other) const {
  const auto tie = [](const FoldedLine& f) {
    return std::tie(f.ranks, f.line.err, f.line.text, f.line.end, f.line.stamp);
  };
  return tie(*this) == tie(other);
}

std::size_t LineMerger::Group::bytes() const {
  return kGroupBytes + summary.first().text.size() +
         summary.first().numbers.size() * sizeof(LineNumber);
}

void LineMerger::expect(const Speaker& speaker, bool err) {
  const auto [at, is_new] = members_.try_emplace(speaker.rank);
  Member& member = at->second;
  member.speaker = speaker;
  if (is_new) ++silent_;
  if (!std::exchange(err ? member.err : member.out, true)) ++(err ? speakers_err_ : speakers_out_);
}

LineMerger::Lines LineMerger::say(int rank, SaidLine line, TimePoint now) {
  if (!begun_) begun_ = now;
  Member& member = members_[rank];
  if (!member.has_spoken()) --silent_;
  LineShape shape{std::exchange(line.text, {}), member.speaker};
  Group* group = find(waiting_, waiting_index_, shape, line, rank, member.queued);
  if (group && group->retells != 0 && group->number < member.late)
    group = find(waiting_, waiting_index_, shape, line, rank, member.late);
  if (group)
    group->summary.add(shape);
  else
    group = &open(std::move(shape), std::move(line), rank, now);
  group->ranks.insert(rank);
  Lines out;
  if (group->retells != 0) {
    member.late = group->number;
  } else {
    member.queued = group->number;
    if (member.late > group->number) tell_late(rank, out, now);
  }
  if (Group* earlier = group_of(shown_, group->retells)) {
    earlier->ranks.insert(rank);
    // One of them may have been ahead, and alone until now: what all say goes on behind this line.
    for (const int each : earlier->ranks)
      members_[each].retold = std::max(members_[each].retold, earlier->number);
  }
  take_due(out, now, 0);
  return out;
}

LineMerger::Group* LineMerger::find(std::deque<Group>& groups, const Index& index,
                                    const LineShape& shape, const SaidLine& line, int rank,
                                    Number behind) {
  auto candidate = index.upper_bound({shape.words_hash, behind});
  for (int looked_at = 0; looked_at < kCandidatesMax; ++looked_at, ++candidate) {
    if (candidate == index.end() || candidate->first != shape.words_hash) return nullptr;
    Group* group = group_of(groups, candidate->second);
    if (!group->ranks.contains(rank) && !group->is_told && group->line.err == line.err &&
        group->line.end == line.end && group->summary.accepts(shape))
      return group;
  }
  return nullptr;
}

LineMerger::Group& LineMerger::open(LineShape shape, SaidLine line, int rank, TimePoint now) {
  const Group* earlier = find(shown_, shown_index_, shape, line, rank, members_[rank].retold);
  Group& group = waiting_.emplace_back(
      Group{next_waiting_++, LineSummary{std::move(shape)}, std::move(line), now});
  if (earlier) {
    group.retells = earlier->number;
    group.said_before = earlier->ranks;
    group.lateness = now - earlier->since;
  }
  waiting_index_.emplace(group.summary.first().words_hash, group.number);
  waiting_bytes_ += group.bytes();
  return group;
}

LineMerger::Lines LineMerger::ended(int rank, TimePoint now) {
  Member& member = members_[rank];
  if (!std::exchange(member.has_ended, true)) {
    speakers_out_ -= member.out ? 1 : 0;
    speakers_err_ -= member.err ? 1 : 0;
    silent_ -= member.has_spoken() ? 0 : 1;
  }
  return tick(now);
}

LineMerger::Lines LineMerger::tick(TimePoint now) {
  Lines out;
  take_due(out, now, 0);
  end_due_runs(out, now);
  return out;
}

LineMerger::Lines LineMerger::flush(int rank, TimePoint now) {
  Lines out;
  take_due(out, now, std::max(members_[rank].queued, members_[rank].late));
  end_runs_of({rank}, nullptr, out);
  return out;
}

LineMerger::Lines LineMerger::flush_all(TimePoint now) {
  Lines out;
  take_due(out, now, kAll);
  for (const auto& [ranks, run] : std::exchange(runs_, {})) tell_run(ranks, run, out);
  return out;
}

bool LineMerger::is_far_ahead(int rank) const {
  const bool much = waiting_.size() > kWaitingLinesMax / 2 || waiting_bytes_ > kWaitingBytesMax / 2;
  return much && members_.at(rank).queued > waiting_[waiting_.size() / 2].number;
}

std::optional<TimePoint> LineMerger::next_tick() const {
  std::optional<TimePoint> next;
  const auto consider = [&](TimePoint at) { next = next ? std::min(*next, at) : at; };
  if (!waiting_.empty()) consider(shown_at_latest(waiting_.front()));
  for (const auto& [ranks, run] : runs_) consider(run.due());
  return next;
}

/// Whether all workers that could write the line have written it.
bool LineMerger::complete(const Group& group) const {
  const std::size_t speakers = group.line.err ? speakers_err_ : speakers_out_;
  if (group.ranks.size() + group.said_before.size() < speakers) return false;
  return std::ranges::all_of(members_, [&](const auto& entry) {
    const auto& [rank, member] = entry;
    const bool speaks = group.line.err ? member.err : member.out;
    return !speaks || member.has_ended || group.ranks.contains(rank) ||
           group.said_before.contains(rank);
  });
}

TimePoint LineMerger::shown_at_latest(const Group& group) const {
  const bool starting = group.since < *begun_ + kStart;
  return group.since + (starting && silent_ > 0 ? kStartWindow : kWindow);
}

void LineMerger::take_due(Lines& out, TimePoint now, Number up_to) {
  while (!waiting_.empty()) {
    const Group& front = waiting_.front();
    const bool too_much = waiting_.size() > kWaitingLinesMax || waiting_bytes_ > kWaitingBytesMax;
    if (front.number > up_to && now < shown_at_latest(front) && !too_much && !complete(front))
      break;
    show_front(out, now);
  }
  forget_old(now);
}

void LineMerger::show_front(Lines& out, TimePoint now) {
  Group group = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= group.bytes();
  waiting_index_.erase({group.summary.first().words_hash, group.number});
  if (group.is_told) return;
  if (group.retells != 0) return add_to_run(group, out, now);
  end_runs_of(group.ranks, nullptr, out);
  out.push_back(folded(group));
  group.number = next_shown_++;
  // A rank alone may have said something between what all say: it goes on behind that.
  if (group.ranks.size() > 1)
    for (const int rank : group.ranks) members_[rank].retold = group.number;
  shown_bytes_ += group.bytes();
  shown_index_.emplace(group.summary.first().words_hash, group.number);
  shown_.push_back(std::move(group));
}

void LineMerger::forget_old(TimePoint now) {
  while (!shown_.empty() &&
         (shown_.front().since + kRemembered < now || shown_.size() > kRememberedLinesMax ||
          shown_bytes_ > kRememberedBytesMax)) {
    shown_bytes_ -= shown_.front().bytes();
    shown_index_.erase({shown_.front().summary.first().words_hash, shown_.front().number});
    shown_.pop_front();
  }
}

void LineMerger::add_to_run(const Group& group, Lines& out, TimePoint now) {
  end_runs_of(group.ranks, &group.ranks, out);
  const auto [at, is_new] = runs_.try_emplace(group.ranks);
  Run& run = at->second;
  if (is_new) run.since = now;
  if (++run.count <= kShownOfRun) run.first.push_back(folded(group));
  run.latest = now;
  run.lateness = std::max(run.lateness, group.lateness);
}

/// The rank has caught up with lines that still wait, before its late ones in the queue: these come
/// first.
void LineMerger::tell_late(int rank, Lines& out, TimePoint now) {
  members_[rank].late = 0;
  for (Group& group : waiting_) {
    if (group.retells == 0 || group.is_told || !group.ranks.contains(rank)) continue;
    add_to_run(group, out, now);
    group.is_told = true;
  }
}

/// Their next lines come behind these. `but`: the run of exactly these ranks goes on.
void LineMerger::end_runs_of(const LineMerger::Ranks& ranks, const LineMerger::Ranks* but,
                             Lines& out) {
  std::erase_if(runs_, [&](const auto& entry) {
    const auto& [late, run] = entry;
    if (!intersect(late, ranks) || (but && late == *but)) return false;
    tell_run(late, run, out);
    return true;
  });
}

void LineMerger::end_due_runs(Lines& out, TimePoint now) {
  std::erase_if(runs_, [&](const auto& entry) {
    if (now < entry.second.due()) return false;
    tell_run(entry.first, entry.second, out);
    return true;
  });
}

void LineMerger::tell_run(const LineMerger::Ranks& ranks, const Run& run, Lines& out) const {
  if (run.count <= kShownOfRun && run.lateness >= kVeryLate) {
    std::ranges::copy(run.first, std::back_inserter(out));
    return;
  }
  SaidLine line = run.first.front().line;
  const double seconds = std::chrono::duration<double>{run.lateness}.count();
  line.text = run.count == 1 ? fmt::format("(the same line as others, {:.1f} s later)", seconds)
                             : fmt::format("(the same {} lines as others, up to {:.1f} s later)",
                                           run.count, seconds);
  line.end = "\n";
  out.push_back({{ranks.begin(), ranks.end()}, local_ranks_of(ranks), std::move(line)});
}

FoldedLine LineMerger::folded(const Group& group) const {
  FoldedLine shown{
      {group.ranks.begin(), group.ranks.end()}, local_ranks_of(group.ranks), group.line};
  shown.line.text = group.summary.text(shown.ranks, shown.local_ranks);
  return shown;
}

std::vector<int> LineMerger::local_ranks_of(const LineMerger::Ranks& ranks) const {
  std::vector<int> local_ranks;
  for (const int rank : ranks) local_ranks.push_back(members_.at(rank).speaker.local_rank);
  return local_ranks;
}

}  // namespace ddprun
