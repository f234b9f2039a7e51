#include "rendezvous/rounds/roster.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "base/endpoint.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

RankList Seats::local_ranks_in(const RankList& ranks) const {
  const RankList taken = without(ranks_from(0, workers_), vacant_);
  RankList local;
  for (const int rank : ranks)
    if (rank >= first_rank_ && rank - first_rank_ < std::ssize(taken))
      local.push_back(taken[static_cast<std::size_t>(rank - first_rank_)]);
  return local;
}

bool Seats::wait_for_workers() const {
  return preparation_ == Preparation::kUnderWay && parked_.workers.empty();
}

/// The next round leaves seats of workers that are gone vacant, so that those which have stayed
/// wait for nobody: other workers start meanwhile. If these have ended before they could enter a
/// round, no seat is left vacant: the next ones start in the round, and fail where everybody hears
/// of it. None is left vacant either if those that have stayed need as many workers as before.
RankList Seats::vacant_next() const {
  if (parked_.workers.empty() || parked_.world_size > 0) return {};
  RankList vacant = without(ranks_from(0, workers_), parked_.workers);
  if (preparation_ == Preparation::kDone) vacant = without(vacant, vacant_);
  return format_number_list(vacant).size() <= kRankListBytesMax ? vacant : RankList{};
}

void Seats::enter(int round, int group_rank, int first_rank) {
  round_ = round;
  group_rank_ = group_rank;
  first_rank_ = first_rank;
  vacant_ = vacant_next();
  parked_ = {};
  preparation_ = vacant_.empty() ? Preparation::kNone : Preparation::kUnderWay;
}

void Seats::take_back(const HostedAssignment& place) {
  round_ = place.round;
  group_rank_ = place.group_rank;
  first_rank_ = place.first_rank;
  vacant_ = seats_in(place.vacant, workers_);
  come_back(true);
}

void Seats::come_back(bool resumes) {
  if (!resumes) vacant_.clear();
  preparation_ = vacant_.empty() ? Preparation::kNone : Preparation::kUnderWay;
}

void Seats::park(const ParkedWorkers& told) {
  parked_ = {seats_in(told.local_ranks, workers_), told.world_size};
}

bool Seats::end_preparation() {
  // If a node was in no round, workers have started in all seats whose own were not parked.
  if (vacant_.empty() && !parked_.workers.empty()) parked_.workers = ranks_from(0, workers_);
  return std::exchange(preparation_, Preparation::kDone) == Preparation::kUnderWay;
}

Roster::Node& Roster::add(PeerId peer, Join join, int arrival, TimePoint now) {
  assert(!nodes_.contains(join.node) && !by_peer_.contains(peer));
  Node& node = nodes_[join.node];
  node.join = std::move(join);
  node.seats.resize(node.join.workers);
  node.arrival = arrival;
  node.peer_ = peer;
  by_peer_[peer] = &node;
  node.last_heard_ = now;
  node.place_ = by_silence_.insert(by_silence_.end(), &node);
  if (node.join.node_rank >= 0) {
    std::vector<Node*>& wanting = by_wanted_rank_[node.join.node_rank];
    wanting.push_back(&node);
    if (wanting.size() > 1) node.phase_ = Phase::kContending;
  }
  if (node.join.witness) {
    node.phase_ = Phase::kWitnessing;
    witness_ = node.id();
  }
  node.contends_since = now;
  ++counter(node.phase_);
  return node;
}

Roster::Node* Roster::remove(Node& node) {
  Node* heir = nullptr;
  const auto wanting = by_wanted_rank_.find(node.join.node_rank);
  if (wanting != by_wanted_rank_.end()) {
    const bool had_it = wanting->second.front() == &node;
    std::erase(wanting->second, &node);
    if (wanting->second.empty())
      by_wanted_rank_.erase(wanting);
    else if (had_it)
      heir = wanting->second.front();
  }
  if (node.id() == witness_) witness_.clear();
  let_stay(node, false);
  objected_ -= counts_as_objected(node);
  --counter(node.phase_);
  by_peer_.erase(node.peer_);
  by_silence_.erase(node.place_);
  nodes_.erase(nodes_.find(node.id()));
  return heir;
}

bool Roster::knows_more_than(const Join& join) const {
  return std::ranges::any_of(nodes_, [&](const auto& entry) {
    const Join& known = entry.second.join;
    return known.voter.assignment.round >= join.voter.running ||
           known.counters.round > join.voter.running ||
           known.counters.attempt > join.counters.attempt;
  });
}

void Roster::clear() { *this = Roster{}; }

void Roster::reconnect(Node& node, PeerId peer, Join join, TimePoint now) {
  assert(join.node == node.id() && join.node_rank == node.join.node_rank);
  by_peer_.erase(node.peer_);
  node.peer_ = peer;
  by_peer_[peer] = &node;
  node.join = std::move(join);
  node.seats.resize(node.join.workers);
  heard(node, now);
}

Roster::Node* Roster::find(const NodeId& id) {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Roster::Node* Roster::find(const NodeId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Roster::Node* Roster::with_rank(int rank) const {
  for (const auto& [id, node] : nodes_)
    if (node.is_in_round() && node.seats.holds(rank)) return &node;
  return nullptr;
}

Roster::Node* Roster::with_peer(PeerId peer) {
  const auto found = by_peer_.find(peer);
  return found == by_peer_.end() ? nullptr : found->second;
}

const Roster::Node* Roster::with_wanted_rank(int rank) const {
  const auto found = by_wanted_rank_.find(rank);
  return found == by_wanted_rank_.end() ? nullptr : found->second.front();
}

std::vector<Roster::Node*> Roster::contenders_of(const Node& node) const {
  const auto found = by_wanted_rank_.find(node.join.node_rank);
  if (found == by_wanted_rank_.end() || found->second.front() != &node) return {};
  return {found->second.begin() + 1, found->second.end()};
}

void Roster::set_phase(Node& node, Phase phase) {
  objected_ -= counts_as_objected(node);
  --counter(node.phase_);
  node.phase_ = phase;
  ++counter(phase);
  objected_ += counts_as_objected(node);
  let_stay(node, false);
}

void Roster::let_stay(Node& node, bool stays) {
  stays = stays && node.phase() == Phase::kRunning;
  if (std::exchange(node.stays_, stays) != stays) staying_ += stays ? 1 : -1;
}

void Roster::object(Node& node, std::string objection) {
  objected_ -= counts_as_objected(node);
  node.objection_ = std::move(objection);
  objected_ += counts_as_objected(node);
}

/// 1, or 0. No other node can have a rank that a node has asked for.
int Roster::counts_as_objected(const Node& node) {
  const bool is_replaceable = node.join.node_rank < 0;
  return node.phase_ == Phase::kReady && !node.objection_.empty() && is_replaceable ? 1 : 0;
}

void Roster::heard(Node& node, TimePoint now) {
  node.last_heard_ = now;
  by_silence_.splice(by_silence_.end(), by_silence_, node.place_);
}

void Roster::all_heard(TimePoint now) {
  for (Node* node : by_silence_) node->last_heard_ = now;
}

std::string standby_endpoint(const Roster::Node& node) {
  if (node.join.voter.standby_port == 0 || node.address.empty()) return "";
  return text_of({node.address, static_cast<std::uint16_t>(node.join.voter.standby_port)});
}

}  // namespace ddprun
