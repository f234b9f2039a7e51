#include "rendezvous/rounds/rank_assignment.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace ddprun {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Takes the number at the start of `text`, without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool naturally_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_number(a);
      const std::string_view right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

namespace {

using Node = Roster::Node;

bool is_sound(const Node* node) { return node->objection().empty(); }

/// The node with the smallest precedence gets a place first.
auto precedence(const Node* node) {
  return std::tuple{node->announced.has_value(), !is_sound(node), node->seats.group_rank() < 0,
                    node->arrival};
}

}  // namespace

NodeId first_spare(const Roster& nodes) {
  const Node* first = nullptr;
  nodes.for_each([&](const Node& node) {
    const bool waits = node.phase() == Roster::Phase::kReady &&
                       node.seats.preparation() == Seats::Preparation::kNone;
    if (waits && (first == nullptr || precedence(&node) < precedence(first))) first = &node;
  });
  return first != nullptr ? first->id() : NodeId{};
}

std::vector<Node*> choose_members(Roster& nodes, const CoordinatorRules& rules) {
  std::vector<Node*> ready;
  nodes.for_each([&](Node& node) {
    if (node.phase() == Roster::Phase::kReady) ready.push_back(&node);
  });
  // Those that need as many workers as before wait for the others.
  const bool counted = std::ranges::any_of(ready, [=](const Node* node) {
    return is_sound(node) && node->seats.parked().world_size > 0;
  });
  const auto prepares = [=](const Node* node) {
    return !counted && node->seats.wait_for_workers();
  };
  const auto is_able = [=](const Node* node) { return is_sound(node) && !prepares(node); };
  if (std::ranges::count_if(ready, is_able) >= rules.terms.nodes_min)
    std::erase_if(ready, prepares);
  std::ranges::sort(ready, {}, precedence);
  auto lacking = rules.terms.nodes_min - std::ranges::count_if(ready, [=](const Node* node) {
                   return is_sound(node) && !node->announced;
                 });
  std::vector<Node*> members;
  for (Node* const node : ready)
    if (is_sound(node) || lacking-- > 0) members.push_back(node);
  members.resize(std::min<std::size_t>(members.size(), rules.terms.nodes_max));
  return members;
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
  place([](const Node& node) { return node.seats.group_rank(); });
  std::ranges::stable_sort(members, [](const Node* a, const Node* b) {
    return naturally_before(a->join.host, b->join.host);
  });
  auto next = members.begin();
  for (Node*& slot : ranked)
    if (slot == nullptr) slot = *next++;
  return ranked;
}

}  // namespace ddprun
