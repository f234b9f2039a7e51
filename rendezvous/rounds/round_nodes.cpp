#include "rendezvous/rounds/round_nodes.hpp"

#include <utility>

namespace ddprun {

void judge_nodes(const Rounds::Parts& parts, TimePoint now) {
  parts.history.judge(parts.nodes, now);
  if (parts.job.verdict) return;  // there is no next round
  if (const auto question = parts.history.begin_recall(now)) parts.out.add(RecallNodes{*question});
}

std::vector<Roster::Node*> excused_by(const NodesRecalled& answer, NodeHistory& history,
                                      Roster& nodes, TimePoint now) {
  std::vector<Roster::Node*> left_out;
  nodes.for_each([&](Roster::Node& node) {
    if (node.phase() == Roster::Phase::kReady && !node.objection().empty())
      left_out.push_back(&node);
  });
  history.recalled(answer.question, answer.failures);
  history.judge(nodes, now);
  std::erase_if(left_out, [](const Roster::Node* node) { return !node->objection().empty(); });
  return left_out;
}

bool is_fit_again(const Fitness& fitness, Roster::Node& node, const NodeHistory& history,
                  Roster& nodes) {
  const bool was_left_out = node.phase() == Roster::Phase::kReady && !node.objection().empty();
  node.join.unfit = fitness.unfit;
  history.judge(nodes, node);
  return was_left_out && node.objection().empty();
}

/// If no node is left, the whole job is gone, and not one of its nodes.
void remember_failure(const Rounds::Parts& parts, TimePoint now) {
  auto failure = parts.failures.node_failure(now);
  if (!failure || !parts.history.counts() || parts.nodes.count(Roster::Phase::kReady) == 0) return;
  parts.history.add(*failure);
  parts.out.add(RememberNode{std::move(*failure)});
}

void tell_those_who_wait(const Rounds::Parts& parts, const Rounds& rounds, int nodes) {
  parts.nodes.for_each([&](const Roster::Node& node) {
    if (node.seats.wait_for_workers() && node.phase() == Roster::Phase::kReady &&
        node.objection().empty() && nodes < parts.rules.terms.nodes_max)
      parts.in_place.ask_to_prepare(node, rounds.spare(node));
    else if (node.phase() == Roster::Phase::kReady || node.phase() == Roster::Phase::kWitnessing)
      parts.out.send(node.peer(), rounds.spare(node));
  });
}

}  // namespace ddprun
