#include "rendezvous/watch/round_dump.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kDumpAnswersMax = 4096;  // all nodes together
constexpr std::size_t kRanksTextMax = 500;     // the most for a StackGroup's list of ranks

/// "0 (default_pg)" is the group 0.
std::string group_name(const std::string& text) { return text.substr(0, text.find(' ')); }

/// Workers that wait in one group, or in the store in one operation.
struct WaitPlace {
  std::string operation;
  std::string group;
  std::int64_t sequence = 0;  // the one's that is furthest behind
  RankList waiting;
};

/// A group does its collectives in their order: a rank that waits in a later one than others is
/// kept by the same ranks.
std::vector<WaitPlace> places_of(const std::vector<StackGroup>& answers) {
  std::map<std::pair<std::string, std::string>, WaitPlace> places;
  for (const StackGroup& answer : answers) {
    if (answer.operation.empty()) continue;
    const std::string name = group_name(answer.group);
    WaitPlace& place = places[{name, name.empty() ? answer.operation : ""}];
    if (place.waiting.empty() || answer.sequence < place.sequence) {
      place.operation = answer.operation;
      place.group = answer.group;
      place.sequence = answer.sequence;
    }
    place.waiting = united(place.waiting, ranks_in(answer.ranks));
  }
  std::vector<WaitPlace> list;
  list.reserve(places.size());
  for (auto& [key, place] : places) list.push_back(std::move(place));
  return list;
}

RankList missing_in_group(const WaitPlace& place, const ProgressTable& table) {
  const std::string name = group_name(place.group);
  RankList missing;
  for (int rank = 0; rank < table.world_size(); ++rank) {
    if (has_rank(place.waiting, rank)) continue;
    const auto last = table.entered(rank, name);
    const bool belongs = last || name == kGroupOfAllRanks;
    const bool has_come = place.sequence > 0 && last && *last >= place.sequence;
    if (belongs && !has_come) missing.push_back(rank);
  }
  return missing;
}

/// A list of ranks that is too long for a message becomes two groups.
void add_stacks(std::vector<StackGroup>& stacks, const FoldedStacks& folded) {
  StackGroup group = folded.group;
  if (group.ranks.size() <= kRanksTextMax) return stacks.push_back(std::move(group));
  const auto half = folded.ranks.begin() + static_cast<std::ptrdiff_t>(folded.ranks.size() / 2);
  for (RankList ranks :
       {RankList{folded.ranks.begin(), half}, RankList{half, folded.ranks.end()}}) {
    group.ranks = format_number_list(ranks);
    add_stacks(stacks, {group, std::move(ranks), folded.missing});
  }
}

StackGroup finished_group(const RoundDump::Seat& seat) {
  return {.ranks = format_number_list(ranks_from(seat.first_rank, seat.workers)),
          .held_up = HeldUp::kEnded,
          .doing = "has ended, with code 0"};
}

}  // namespace

void RoundDump::begin(int number, Seats seats, TimePoint now) {
  number_ = number;
  seats_ = std::move(seats);
  begun_ = now;
  answers_.clear();
  waiting_for_.clear();
  for (const auto& [id, seat] : seats_) {
    if (seat.finished)
      answers_.push_back(finished_group(seat));
    else
      waiting_for_.insert(id);
  }
}

void RoundDump::take(const NodeId& node, const Inspected& answer) {
  if (!under_way() || answer.inspection != number_ || !waiting_for_.contains(node)) return;
  if (!answer.workers.ranks.empty() && answers_.size() < kDumpAnswersMax)
    answers_.push_back(answer.workers);
  if (answer.last) forget(node);
}

TimePoint RoundDump::due() const {
  if (!under_way()) return TimePoint::max();
  return waiting_for_.empty() ? begun_ : begun_ + kDumpTimeout;
}

JobDump RoundDump::finish(const ProgressTable& table, TimePoint now) {
  using std::chrono::milliseconds;
  JobDump dump{.world_size = table.world_size(),
               .nodes = static_cast<int>(seats_.size()),
               .took_ms = std::chrono::duration_cast<milliseconds>(now - begun_).count()};
  dump.waits = find_waits(answers_, table);
  RankList missing;
  for (const DumpWait& wait : dump.waits) missing = united(missing, ranks_in(wait.missing_ranks));
  for (const FoldedStacks& each : fold_answers(answers_, missing)) add_stacks(dump.stacks, each);
  tell_unheard(dump);
  number_ = 0;
  answers_.clear();
  return dump;
}

void RoundDump::tell_unheard(JobDump& dump) const {
  RankList heard;
  for (const StackGroup& answer : answers_) heard = united(heard, ranks_in(answer.ranks));
  for (const auto& [id, seat] : seats_) {
    const RankList ranks = without(ranks_from(seat.first_rank, seat.workers), heard);
    if (ranks.empty()) continue;
    const std::string reason = waiting_for_.contains(id) ? "the node has not answered in time"
                                                         : "there was no time to look at them";
    dump.unheard.push_back({seat.host, format_number_list(ranks), reason});
  }
}

std::vector<DumpWait> find_waits(const std::vector<StackGroup>& answers,
                                 const ProgressTable& table) {
  const std::vector<WaitPlace> places = places_of(answers);
  RankList waiting;
  for (const WaitPlace& place : places) waiting = united(waiting, place.waiting);
  std::vector<DumpWait> waits;
  for (const WaitPlace& place : places) {
    const RankList missing = place.group.empty()
                                 ? without(ranks_from(0, table.world_size()), waiting)
                                 : missing_in_group(place, table);
    waits.push_back({place.operation, place.group, place.sequence,
                     format_number_list(place.waiting), format_number_list(missing)});
  }
  std::ranges::stable_sort(waits, {}, [](const DumpWait& w) { return w.missing_ranks.empty(); });
  return waits;
}

}  // namespace ddprun
