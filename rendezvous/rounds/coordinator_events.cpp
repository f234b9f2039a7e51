#include "rendezvous/rounds/coordinator_events.hpp"

#include <utility>

namespace ddprun {

void Outbox::send_to_nodes(const Roster& nodes, const CoordinatorMessage& message) {
  nodes.for_each([&](const Roster::Node& node) {
    if (!node.join.witness) send(node.peer(), message);
  });
}

void Outbox::send_to_members(const Roster& nodes, const CoordinatorMessage& message) {
  nodes.for_each([&](const Roster::Node& node) {
    if (node.is_in_round()) send(node.peer(), message);
  });
}

void Outbox::send_to_stopping(const Roster& nodes, const CoordinatorMessage& message) {
  nodes.for_each([&](const Roster::Node& node) {
    if (node.phase() == Roster::Phase::kStopping) send(node.peer(), message);
  });
}

std::vector<CoordinatorAction> Outbox::take(bool may_stay) {
  for (CoordinatorAction& action : actions_)
    if (auto* const sent = std::get_if<SendTo>(&action))
      if (auto* const beat = std::get_if<Beat>(&sent->message)) beat->keep = may_stay;
  return std::exchange(actions_, {});
}

VoterJoined voter_joined(const Roster::Node& node, bool resumed) {
  return {.node = node.id(),
          .state = node.join.voter,
          .counters = node.join.counters,
          .standby = standby_endpoint(node),
          .witness = node.join.witness,
          .is_voter = node.phase() != Roster::Phase::kContending,
          .resumed = resumed};
}

bool outlives(const Roster::Node& node, const Leadership& leadership) {
  const bool has_workers = node.is_in_round() || node.phase() == Roster::Phase::kStopping;
  return has_workers && leadership.outlives(node.id()) != Outlives::kNo;
}

}  // namespace ddprun
