#include "rendezvous/rounds/roster.hpp"

#include <cassert>
#include <utility>

namespace ddprun {

void Roster::add(Join join, int arrival, TimePoint now) {
  assert(!nodes_.contains(join.node));
  Node& node = nodes_[join.node];
  node.join = std::move(join);
  node.arrival = arrival;
  node.last_heard_ = now;
  node.place_ = by_silence_.insert(by_silence_.end(), &node);
  if (node.join.node_rank >= 0) by_wanted_rank_[node.join.node_rank] = &node;
  ++counter(node.phase_);
}

void Roster::remove(Node& node) {
  --counter(node.phase_);
  by_wanted_rank_.erase(node.join.node_rank);
  by_silence_.erase(node.place_);
  nodes_.erase(nodes_.find(node.id()));
}

Roster::Node* Roster::find(const NodeId& id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Roster::Node* Roster::with_wanted_rank(int rank) const {
  const auto found = by_wanted_rank_.find(rank);
  return found == by_wanted_rank_.end() ? nullptr : found->second;
}

void Roster::set_phase(Node& node, Phase phase) {
  --counter(node.phase_);
  node.phase_ = phase;
  ++counter(phase);
}

void Roster::heard(Node& node, TimePoint now) {
  node.last_heard_ = now;
  by_silence_.splice(by_silence_.end(), by_silence_, node.place_);
}

void Roster::all_heard(TimePoint now) {
  for (Node* node : by_silence_) node->last_heard_ = now;
}

}  // namespace ddprun
