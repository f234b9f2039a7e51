// The part of RoundMachine that decides which nodes are let in.

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/agreement.hpp"
#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

void RoundMachine::admit(PeerId peer, const Join& join, TimePoint now) {
  const bool was_in_it = join.known.round > 0 && !difference(rules_, join);
  if (state_ == State::kEnded && was_in_it) {  // and has missed the end
    send(peer, *verdict_);
    actions_.push_back(DropPeer{peer, "the job has ended"});
    return;
  }
  if (const auto reason = refusal_of(join)) return refuse(peer, *reason);
  if (Node* const node = nodes_.find(join.node)) return reconnect(*node, peer, join, now);
  add(peer, join, now);
}

/// Why the node cannot take part; nullopt when it can.
std::optional<std::string> RoundMachine::refusal_of(const Join& join) {
  if (state_ == State::kEnded) return "the job has already ended";
  if (auto differs = difference(rules_, join)) return differs;
  if (const Node* known = nodes_.find(join.node)) {
    if (join.incarnation <= known->join.incarnation)
      return "the agent on " + join.host + " has joined over a newer connection already";
    if (join.node_rank != known->join.node_rank)
      return "the agent on " + join.host + " has asked for another node rank before";
    return std::nullopt;
  }
  if (nodes_.size() >= 2 * static_cast<std::size_t>(rules_.nodes_max) + kSparesReserve)
    return "a job of at most " + std::to_string(rules_.nodes_max) + " nodes has " +
           std::to_string(nodes_.size()) + ", spares among them, and takes no more of them";
  return std::nullopt;
}

void RoundMachine::add(PeerId peer, const Join& join, TimePoint now) {
  const Node& node = nodes_.add(peer, join, arrivals_++, now);
  send(peer, Joined{rules_.heartbeat_timeout.count(), known_kinds(), microseconds(now)});
  if (node.phase() == Phase::kReady) welcome(node);
}

/// The agent has stopped its workers before it connected again. It keeps its rank and its place
/// among those that wait, and nobody has to find out first that its old connection is dead.
void RoundMachine::reconnect(Node& node, PeerId peer, const Join& join, TimePoint now) {
  const Phase before = node.phase();
  actions_.push_back(DropPeer{node.peer(), "its agent has connected again"});
  nodes_.reconnect(node, peer, join, now);
  send(peer, Joined{rules_.heartbeat_timeout.count(), known_kinds(), microseconds(now)});
  if (before == Phase::kContending) return;
  nodes_.set_phase(node, Phase::kReady);
  if (before == Phase::kReady)
    welcome(node);
  else if (state_ == State::kRunning)
    stop_round("node " + join.host + " joined again");
}

/// A node that is ready makes a new round if there is a place for it; else it is a spare.
void RoundMachine::welcome(const Node& node) {
  if (state_ != State::kRunning) return;
  if (members() < rules_.nodes_max)
    stop_round("node " + node.join.host + " joined");
  else
    send(node.peer(), Spare{round_, members(), attempt_});
}

void RoundMachine::refuse(PeerId peer, const std::string& reason) {
  send(peer, Refused{reason});
  actions_.push_back(DropPeer{peer, reason});
}

/// A node is alive, so nobody gets its rank. Who asks for the rank of a node that is not heard
/// waits until that is lost: it may be the same machine, started again.
void RoundMachine::refuse_contenders(const Node& node, TimePoint now) {
  if (nodes_.count(Phase::kContending) == 0) return;
  const std::chrono::milliseconds half = rules_.heartbeat_timeout / 2;
  for (Node* const other : nodes_.contenders_of(node)) {
    if (now - other->contends_since < std::min(half, kProofOfLifeMax)) continue;
    refuse(other->peer(), "node rank " + std::to_string(node.join.node_rank) + " is " +
                              node.join.host + "'s already, " + other->join.host +
                              " asks for it, too (--node-rank)");
    nodes_.remove(*other);
  }
}

}  // namespace ddprun
