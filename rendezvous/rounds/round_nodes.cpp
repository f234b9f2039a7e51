#include "rendezvous/rounds/round_nodes.hpp"

#include <utility>

namespace ddprun {

void judge_nodes(const Rounds::Context& context, TimePoint now) {
  context.history.judge(context.nodes, now);
  if (context.job.verdict) return;  // there is no next round
  if (const auto question = context.history.begin_recall(now))
    context.out.add(RecallNodes{*question});
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

std::vector<Roster::Node*> nodes_that_wait(Roster& nodes) {
  std::vector<Roster::Node*> waiting;
  nodes.for_each([&](Roster::Node& node) {
    const bool starts = node.seats.preparation() == Seats::Preparation::kUnderWay;
    if (node.phase() == Roster::Phase::kReady && !starts) waiting.push_back(&node);
  });
  return waiting;
}

/// If no node is left, the whole job is gone, and not one of its nodes.
void remember_failure(const Rounds::Context& context, TimePoint now) {
  auto failure = context.failures.node_failure(now);
  if (!failure || !context.history.counts() || context.nodes.count(Roster::Phase::kReady) == 0)
    return;
  context.history.add(*failure);
  context.out.add(RememberNode{std::move(*failure)});
}

void tell_those_who_wait(const Rounds::Context& context, const Rounds& rounds, int nodes) {
  context.nodes.for_each([&](const Roster::Node& node) {
    if (node.seats.wait_for_workers() && node.phase() == Roster::Phase::kReady &&
        node.objection().empty() && nodes < context.rules.terms.nodes_max)
      context.in_place.ask_to_prepare(node, rounds.spare(node));
    else if (node.phase() == Roster::Phase::kReady || node.phase() == Roster::Phase::kWitnessing)
      context.out.send(node.peer(), rounds.spare(node));
  });
}

}  // namespace ddprun
