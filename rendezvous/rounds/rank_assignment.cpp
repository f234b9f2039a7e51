#include "rendezvous/rounds/rank_assignment.hpp"

#include <algorithm>
#include <tuple>

#include "rendezvous/rounds/in_place.hpp"
#include "rendezvous/rounds/natural_order.hpp"

namespace ddprun {

using Node = Roster::Node;

std::vector<Node*> choose_members(Roster& nodes, const CoordinatorRules& rules) {
  std::vector<Node*> ready;
  nodes.for_each([&](Node& node) {
    if (node.phase() == Roster::Phase::kReady) ready.push_back(&node);
  });
  // Those that need as many workers as before wait for the others.
  const bool counted =
      std::ranges::any_of(ready, [](const Node* node) { return node->parked.world_size > 0; });
  const auto prepares = [=](const Node* node) { return !counted && waits_for_workers(*node); };
  const auto is_sound = [](const Node* node) { return node->objection.empty(); };
  const auto comes_first = [=](const Node* node) { return is_sound(node) && !prepares(node); };
  if (std::ranges::count_if(ready, comes_first) >= rules.nodes_min) std::erase_if(ready, prepares);
  std::ranges::sort(ready, {}, [=](const Node* node) {
    return std::tuple{!is_sound(node), node->announced.has_value(), node->group_rank < 0,
                      node->arrival};
  });
  const auto sound = std::ranges::count_if(ready, is_sound);
  const auto wanted = std::clamp<std::ptrdiff_t>(sound, rules.nodes_min, rules.nodes_max);
  if (std::ssize(ready) > wanted) ready.resize(static_cast<std::size_t>(wanted));
  return ready;
}

std::vector<Node*> order_by_rank(std::vector<Node*> members) {
  std::vector<Node*> ranked(members.size());
  const auto place = [&](auto wanted_rank) {
    std::erase_if(members, [&](Node* node) {
      const int rank = wanted_rank(*node);
      if (rank < 0 || rank >= std::ssize(ranked) || ranked[rank] != nullptr) return false;
      ranked[rank] = node;
      return true;
    });
  };
  place([](const Node& node) { return node.join.node_rank; });
  place([](const Node& node) { return node.group_rank; });
  std::ranges::stable_sort(members, [](const Node* a, const Node* b) {
    return naturally_before(a->join.host, b->join.host);
  });
  auto next = members.begin();
  for (Node*& slot : ranked)
    if (slot == nullptr) slot = *next++;
  return ranked;
}

}  // namespace ddprun
