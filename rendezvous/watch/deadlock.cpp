#include "rendezvous/watch/deadlock.hpp"

#include <algorithm>
#include <optional>

#include "rendezvous/watch/inspection.hpp"

namespace ddprun {

namespace {

/// The ranks that have called the same.
struct Call {
  StackGroup what;
  RankList ranks;
};

/// Whether all members must give it tensors of one shape.
bool takes_one_shape(const std::string& operation) {
  return operation.ends_with(":all_reduce") || operation.ends_with(":broadcast") ||
         operation.ends_with(":reduce");
}

bool are_alike(const StackGroup& one, const StackGroup& other) {
  if (one.operation != other.operation) return false;
  return !takes_one_shape(one.operation) || one.shapes == other.shapes;
}

/// What was called as the same collective of a group, those of few ranks first; empty where workers
/// wait in several collectives.
std::vector<Call> calls_of_one_collective(const std::vector<StackGroup>& answers) {
  std::vector<Call> calls;
  for (const StackGroup& answer : answers) {
    if (answer.operation.empty()) continue;
    if (answer.sequence == 0) return {};
    if (!calls.empty() && (calls.front().what.group != answer.group ||
                           calls.front().what.sequence != answer.sequence))
      return {};
    const auto same =
        std::ranges::find_if(calls, [&](const Call& call) { return are_alike(call.what, answer); });
    if (same == calls.end())
      calls.push_back({answer, ranks_in(answer.ranks)});
    else
      same->ranks = united(same->ranks, ranks_in(answer.ranks));
  }
  std::ranges::stable_sort(calls, {}, [](const Call& call) { return call.ranks.size(); });
  return calls;
}

std::string call_text(const StackGroup& what) {
  const bool has_shapes = !what.shapes.empty() && what.shapes != "[]";
  return what.operation + (has_shapes ? " " + what.shapes : "");
}

/// Workers have entered the same collective by different calls. Most of them are right, perhaps.
std::optional<Deadlock> disagreement(const std::vector<StackGroup>& answers) {
  const std::vector<Call> calls = calls_of_one_collective(answers);
  if (calls.size() < 2) return std::nullopt;
  Deadlock found;
  if (calls.back().ranks.size() > calls[calls.size() - 2].ranks.size())
    for (const Call& call : calls)
      if (&call != &calls.back()) found.odd = united(found.odd, call.ranks);
  for (const Call& call : calls)
    found.conclusion += (found.conclusion.empty() ? named(call.ranks) + " called "
                                                  : ", " + named(call.ranks) + " ") +
                        call_text(call.what);
  const StackGroup& any = calls.front().what;
  found.conclusion += std::string{calls.size() == 2 ? ", both" : ", all"} + " as number " +
                      std::to_string(any.sequence) + " of group " + any.group +
                      ": the program disagrees";
  return found;
}

/// Some wait in a collective that the others have left, as when ranks name different roots of a
/// broadcast. The others wait in a later one of the group; the first one is where to look, so its
/// ranks are named.
std::optional<Deadlock> left_behind(const std::vector<StackGroup>& answers) {
  const StackGroup* earliest = nullptr;
  for (const StackGroup& answer : answers) {
    if (answer.operation.empty()) continue;
    if (answer.sequence == 0) return std::nullopt;
    if (earliest != nullptr && answer.group != earliest->group) return std::nullopt;
    if (earliest == nullptr || answer.sequence < earliest->sequence) earliest = &answer;
  }
  if (earliest == nullptr) return std::nullopt;
  Deadlock found;
  RankList ahead;
  for (const StackGroup& answer : answers) {
    if (answer.operation.empty()) continue;
    RankList& side = answer.sequence == earliest->sequence ? found.odd : ahead;
    side = united(side, ranks_in(answer.ranks));
  }
  if (ahead.empty()) return std::nullopt;
  found.conclusion = named(found.odd) + (found.odd.size() == 1 ? " still waits" : " still wait") +
                     " in " + operation_text(*earliest) + ", which " + named(ahead) +
                     (ahead.size() == 1 ? " has" : " have") + " left: the program disagrees";
  return found;
}

/// What the ranks that wait there are seen to do.
std::string operation_of(const WaitingRanks& wait, const std::vector<StackGroup>& answers) {
  for (const StackGroup& answer : answers)
    if (!answer.operation.empty() && share_a_rank(ranks_in(answer.ranks), wait.waiting) &&
        answer.sequence == wait.sequence)
      return operation_text(answer);
  StackGroup unseen{.operation = wait.group.empty() ? "the store" : "a collective"};
  unseen.group = wait.group;
  unseen.sequence = wait.sequence;
  return operation_text(unseen);
}

/// Workers wait for others that wait elsewhere themselves.
std::optional<Deadlock> circle(const Suspicion& why, const std::vector<StackGroup>& answers) {
  Deadlock found;
  for (const WaitingRanks& wait : why.waits) found.odd = united(found.odd, wait.awaited);
  if (found.odd.empty()) return std::nullopt;
  for (const WaitingRanks& wait : why.waits) {
    if (!found.conclusion.empty()) found.conclusion += ", and ";
    found.conclusion += named(wait.waiting);
    if (!wait.awaited.empty()) found.conclusion += " for " + named(wait.awaited);
    found.conclusion += " in " + operation_of(wait, answers);
    if (wait.group.empty()) found.conclusion += ", which no rank answers";
  }
  if (without(why.waiting, found.odd).empty()) found.odd.clear();
  return found;
}

}  // namespace

Deadlock explain_deadlock(const Suspicion& why, const std::vector<StackGroup>& answers) {
  if (auto found = circle(why, answers)) return *found;
  if (auto found = left_behind(answers)) return *found;
  return disagreement(answers).value_or(Deadlock{});
}

}  // namespace ddprun
