#include "rendezvous/watch/inspection.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/watch/deadlock.hpp"

namespace ddprun {

namespace {

auto what_it_does(const StackGroup& g) {
  return std::tie(g.held_up, g.doing, g.stack, g.operation, g.group, g.sequence, g.shapes);
}

}  // namespace

std::vector<FoldedStacks> fold_answers(const std::vector<StackGroup>& answers,
                                       const RankList& missing) {
  std::vector<FoldedStacks> folded;
  for (const StackGroup& group : answers) {
    const RankList ranks = ranks_in(group.ranks);
    const bool is_missing = share_a_rank(ranks, missing);
    const auto same = std::ranges::find_if(folded, [&](const FoldedStacks& f) {
      return f.missing == is_missing && what_it_does(f.group) == what_it_does(group);
    });
    if (same == folded.end())
      folded.push_back({group, ranks, is_missing});
    else
      same->ranks = united(same->ranks, ranks);
  }
  for (FoldedStacks& each : folded) each.group.ranks = format_number_list(each.ranks);
  std::ranges::stable_sort(folded, [](const FoldedStacks& a, const FoldedStacks& b) {
    if (a.missing != b.missing) return a.missing;
    return a.ranks.size() < b.ranks.size();
  });
  return folded;
}

std::string named(const RankList& ranks) { return ranks_text(format_number_list(ranks)); }

namespace {

constexpr std::size_t kAnswersMax = 4096;  // all nodes together

/// The ranks of all groups of which that is true.
RankList ranks_of(const std::vector<StackGroup>& groups, const auto& is_wanted) {
  RankList ranks;
  for (const StackGroup& group : groups)
    if (is_wanted(group)) ranks = united(ranks, ranks_in(group.ranks));
  return ranks;
}

bool is_in_operation(const StackGroup& group) { return !group.operation.empty(); }
/// By a signal or a debugger.
bool is_stopped(const StackGroup& group) { return group.held_up == HeldUp::kStopped; }
/// It is known to be somewhere else than in a wait for others: a rank that has not answered in time
/// may wait as well.
bool is_elsewhere(const StackGroup& group) {
  return is_stopped(group) || group.held_up == HeldUp::kKeepsLock ||
         (!group.stack.empty() && !is_in_operation(group));
}
/// The system's C library says so, or Python.
bool is_exiting(const StackGroup& group) {
  return group.stack.find("__run_exit_handlers\t") != std::string::npos ||
         group.stack.find("Py_FinalizeEx\t") != std::string::npos;
}
bool has_failed(const StackGroup& group) {
  return group.held_up == HeldUp::kFailed || group.held_up == HeldUp::kGaveUp;
}
/// It has waited in vain, and has failed or is about to. A rank that has failed otherwise may have
/// come too late, and lost those that gave up.
bool gives_up(const StackGroup& group) {
  return group.held_up == HeldUp::kGaveUp || is_exiting(group);
}

bool has_given_up(const Suspicion& why) { return why.gave_up != GaveUp::kNobody; }

/// Ranks whose stacks show that they wait for others, if nothing else has shown it. A rank that has
/// failed since one of them gave up has given up as well.
void tell_waiting_by_stacks(Suspicion& why, const std::vector<StackGroup>& groups) {
  if (why.kind != HangReport::Kind::kNoProgress) return;
  RankList waiting = united(why.waiting, ranks_of(groups, [](const StackGroup& group) {
                              return is_in_operation(group) || has_failed(group);
                            }));
  if (waiting.empty()) return;
  RankList missing =
      without(has_given_up(why) ? ranks_of(groups, is_elsewhere) : why.missing, waiting);
  // A rank that exits while others give up has usually given up, too, unless no other rank is
  // missing.
  const RankList gone = has_given_up(why) ? ranks_of(groups, is_exiting) : RankList{};
  if (RankList rest = without(missing, gone); !rest.empty() && rest.size() < missing.size()) {
    missing = std::move(rest);
    waiting = united(waiting, gone);
  }
  why.kind = missing.empty() ? HangReport::Kind::kDeadlock : HangReport::Kind::kMissing;
  why.missing = std::move(missing);
  why.waiting = std::move(waiting);
}

/// Counters may lag behind on a busy machine, so that no rank seems to be missing. Whose stack
/// shows it elsewhere is.
void tell_missing_by_stacks(Suspicion& why, const std::vector<StackGroup>& groups) {
  if (why.kind != HangReport::Kind::kDeadlock) return;
  RankList missing = without(ranks_of(groups, is_elsewhere), why.waiting);
  if (missing.empty()) return;
  why.kind = HangReport::Kind::kMissing;
  why.missing = std::move(missing);
}

/// A rank that was seen elsewhere while others gave up, and soon after has waited in vain, was
/// giving up as well, unless no other is missing.
void tell_given_up_later(Suspicion& why, const std::vector<StackGroup>& later) {
  const RankList staying = without(why.missing, ranks_of(later, gives_up));
  if (staying.empty()) return;
  why.waiting = united(why.waiting, without(why.missing, staying));
  why.missing = staying;
}

/// A stopped rank waits for no other, and reports nothing any more: its counters are those of the
/// last look, which may have seen it in a collective that is done by now. If all missing ranks wait
/// themselves, in an earlier operation, they wait for the stopped one.
void tell_missing_by_stop(Suspicion& why, const std::vector<StackGroup>& groups) {
  const RankList still = ranks_of(groups, is_stopped);
  if (still.empty()) return;
  const RankList held = without(ranks_of(groups, is_in_operation), still);
  const bool others_are_held = without(without(why.missing, held), still).empty();
  const RankList waiting = without(why.waiting, still);
  why.missing = others_are_held ? still : united(why.missing, without(why.waiting, waiting));
  why.waiting = others_are_held ? united(waiting, held) : waiting;
  why.kind = why.waiting.empty() ? HangReport::Kind::kNoProgress : HangReport::Kind::kMissing;
}

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

/// Whether all waiting ranks do so in one operation.
bool wait_together(const std::vector<FoldedStacks>& folded) {
  const StackGroup* first = nullptr;
  for (const FoldedStacks& each : folded) {
    const StackGroup& group = each.group;
    if (group.operation.empty()) continue;
    if (first != nullptr && std::tie(first->operation, first->group, first->sequence) !=
                                std::tie(group.operation, group.group, group.sequence))
      return false;
    first = &group;
  }
  return true;
}

/// Whether somebody who is stopped had entered what the others wait for may be unknown.
std::string sentence_on_missing(const Suspicion& why, const HangReport& report, bool all_stopped) {
  const std::string time = has_given_up(why) ? "in vain" : "for " + seconds(why.silent);
  const bool one = why.missing.size() == 1;
  const std::string waiting =
      named(why.waiting) + (why.waiting.size() == 1 ? " has" : " have") + " waited ";
  if (all_stopped)
    return named(why.missing) + (one ? " is" : " are") + " stopped, and " + waiting + "for " +
           (one ? "it" : "them") + " in " + operation_text(report) + " " + time;
  return named(why.missing) + (one ? " has" : " have") + " not reached " + operation_text(report) +
         ", in which " + waiting + time;
}

std::string sentence_on_deadlock(const Suspicion& why, const HangReport& report, bool together,
                                 const std::string& conclusion) {
  const std::string time = has_given_up(why) ? "in vain" : "for " + seconds(why.silent);
  const std::string place = together ? operation_text(report) : "different operations";
  return "all of the workers have waited for each other " + time + ": " +
         (conclusion.empty() ? named(why.waiting) + " in " + place : conclusion);
}

std::string sentence(const Suspicion& why, const HangReport& report, bool together,
                     const std::string& conclusion, bool all_stopped) {
  const bool one = why.missing.size() == 1;
  switch (why.kind) {
    case HangReport::Kind::kMissing:
      return sentence_on_missing(why, report, all_stopped);
    case HangReport::Kind::kDeadlock:
      return sentence_on_deadlock(why, report, together, conclusion);
    case HangReport::Kind::kNoProgress:
      break;
  }
  return named(why.missing) + (one ? " has" : " have") + " made no progress for " +
         seconds(why.silent);
}

/// What is waited for, as one of the ranks that wait in that group reports it.
const StackGroup* typical_waiter(std::int64_t sequence, const RankList& waiting,
                                 const std::vector<FoldedStacks>& folded) {
  const StackGroup* found = nullptr;
  for (const FoldedStacks& each : folded) {
    if (each.group.operation.empty() || !share_a_rank(each.ranks, waiting)) continue;
    if (each.group.sequence == sequence) return &each.group;
    if (found == nullptr) found = &each.group;
  }
  return found;
}

}  // namespace

void Inspection::take(const NodeId& node, const Inspected& answer) {
  if (answer.inspection != number_ || !waiting_for_.contains(node)) return;
  std::vector<StackGroup>& groups = phase_ == Phase::kLooking ? groups_ : later_;
  if (!answer.workers.ranks.empty() && groups.size() < kAnswersMax)
    groups.push_back(answer.workers);
  if (answer.last) forget(node);
}

bool Inspection::leaves_doubt() const {
  return has_given_up(why_) && ranks_in(report().missing_ranks).size() > 1;
}

void Inspection::pause() {
  phase_ = Phase::kPausing;
  waiting_for_.clear();
}

void Inspection::look_again(int number, std::set<NodeId> nodes) {
  phase_ = Phase::kLookingAgain;
  number_ = number;
  waiting_for_ = std::move(nodes);
}

HangReport Inspection::report() const {
  Suspicion why = why_;
  tell_waiting_by_stacks(why, groups_);
  tell_missing_by_stacks(why, groups_);
  tell_given_up_later(why, later_);
  tell_missing_by_stop(why, groups_);
  const Deadlock deadlock =
      why.kind == HangReport::Kind::kDeadlock ? explain_deadlock(why, groups_) : Deadlock{};
  const RankList to_blame = united(why.missing, deadlock.odd);
  const RankList waiting = without(why.waiting, deadlock.odd);
  const std::vector<FoldedStacks> folded = fold_answers(groups_, to_blame);
  const bool in_store = why.group.empty() && why.gave_up != GaveUp::kCollective;
  HangReport report{.kind = why.kind,
                    .operation = in_store ? "the store" : "a collective",
                    .group = why.group,
                    .sequence = why.sequence,
                    .missing_ranks = format_number_list(to_blame),
                    .waiting_ranks = format_number_list(waiting),
                    .silent_ms = why.silent.count()};
  if (const StackGroup* waiter = typical_waiter(why.sequence, waiting, folded)) {
    report.operation = waiter->operation;
    report.group = waiter->group;
    report.sequence = waiter->sequence;
  }
  if (why.waiting.empty()) report.operation.clear();
  report.sentence = sentence(why, report, wait_together(folded), deadlock.conclusion,
                             without(why.missing, ranks_of(groups_, is_stopped)).empty());
  for (const FoldedStacks& each : folded)
    if (report.stacks.size() < kStackGroupsMax) report.stacks.push_back(each.group);
  return report;
}

}  // namespace ddprun
