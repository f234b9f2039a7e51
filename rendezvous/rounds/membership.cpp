#include "rendezvous/rounds/membership.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "rendezvous/messages/job_terms_fields.hpp"

namespace ddprun {

CoordinatorRules rules_of(const Join& join) { return {.run_id = join.run_id, .terms = join.terms}; }

std::optional<std::string> difference(const CoordinatorRules& rules, const Join& join) {
  if (join.witness) return std::nullopt;  // it goes by nothing
  auto ours = spelled(rules.terms), theirs = spelled(join.terms);
  ours.insert(ours.begin(), "--rdzv-id=" + rules.run_id);
  theirs.insert(theirs.begin(), "--rdzv-id=" + join.run_id);
  const auto [our, their] = std::ranges::mismatch(ours, theirs);
  if (our == ours.end()) return std::nullopt;
  return "options differ between the nodes: '" + *our + "' at the coordinator, '" + *their +
         "' on " + join.host;
}

namespace {

using Phase = Roster::Phase;
using Node = Roster::Node;
using std::chrono::milliseconds;

/// Ticks come at least this often, even if no node is silent, so that a longer gap between two
/// steps shows that the coordinator itself has slept.
milliseconds check_interval(const CoordinatorRules& rules) {
  return std::max(rules.terms.heartbeat_timeout / 10, milliseconds{1});
}

}  // namespace

std::optional<std::string> Membership::refusal_of(const Join& join) const {
  if (auto differs = difference(rules_, join)) return differs;
  if (const Node* const known = nodes_.find(join.node)) {
    if (join.incarnation <= known->join.incarnation)
      return "the agent on " + join.host + " has joined over a newer connection already";
    if (join.node_rank != known->join.node_rank)
      return "the agent on " + join.host + " has asked for another node rank before";
    return std::nullopt;
  }
  if (join.witness && nodes_.witness() != nullptr) return "the job has a witness already";
  if (nodes_.size() >= 2 * static_cast<std::size_t>(rules_.terms.nodes_max) + kSparesReserve)
    return "a job of at most " + std::to_string(rules_.terms.nodes_max) + " nodes has " +
           std::to_string(nodes_.size()) + ", spares among them, and takes no more of them";
  return std::nullopt;
}

Node& Membership::add(PeerId peer, const Join& join, const std::string& address, TimePoint now) {
  Node& node = nodes_.add(peer, join, arrivals_++, now);
  node.address = address;
  return node;
}

std::vector<Membership::Refusal> Membership::hear(Node& node, TimePoint now) {
  nodes_.heard(node, now);
  std::vector<Refusal> refused;
  if (nodes_.count(Phase::kContending) == 0) return refused;
  const milliseconds half = rules_.terms.heartbeat_timeout / 2;
  for (const Node* const other : nodes_.contenders_of(node)) {
    if (now - other->contends_since < std::min(half, kProofOfLifeMax)) continue;
    refused.push_back({other->id(), "node rank " + std::to_string(node.join.node_rank) + " is " +
                                        node.join.host + "'s already, " + other->join.host +
                                        " asks for it, too (--node-rank)"});
  }
  return refused;
}

Node* Membership::silent(TimePoint now) {
  if (!counts_silence(rules_) || nodes_.empty()) return nullptr;
  Node& longest = nodes_.most_silent();
  return now - longest.last_heard() >= rules_.terms.heartbeat_timeout ? &longest : nullptr;
}

Clock::duration Membership::forgive_own_sleep(TimePoint now) {
  const auto slept = now - std::exchange(last_step_, now);
  if (slept <= rules_.terms.heartbeat_timeout / 2) return {};
  nodes_.all_heard(now);
  if (nodes_.count(Phase::kContending) > 0)
    nodes_.for_each([&](Node& node) { node.contends_since = now; });
  return slept;
}

std::optional<TimePoint> Membership::next_due() const {
  if (nodes_.empty()) return std::nullopt;
  const TimePoint check = last_step_ + check_interval(rules_);
  if (!counts_silence(rules_)) return check;
  return std::min(check, nodes_.most_silent().last_heard() + rules_.terms.heartbeat_timeout);
}

}  // namespace ddprun
