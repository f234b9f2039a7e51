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

std::vector<CoordinatorAction> Outbox::take(bool keep) {
  for (CoordinatorAction& action : actions_)
    if (auto* const sent = std::get_if<SendTo>(&action))
      if (auto* const beat = std::get_if<Beat>(&sent->message)) beat->keep = keep;
  return std::exchange(actions_, {});
}

}  // namespace ddprun
