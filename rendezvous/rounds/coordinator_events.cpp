#include "rendezvous/rounds/coordinator_events.hpp"

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

}  // namespace ddprun
