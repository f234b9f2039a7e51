// The part of CoordinatorMachine that decides who takes part in the job: who comes, and who goes.

#include <algorithm>
#include <utility>
#include <vector>

#include "rendezvous/rounds/agreement.hpp"
#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

void CoordinatorMachine::admit(PeerId peer, const Join& join, const std::string& address,
                               TimePoint now) {
  const bool was_in_it = join.counters.round > 0 && !difference(rules_, join);
  if (is_over() && was_in_it) {  // and has missed the end
    send(peer, *verdict_);
    actions_.push_back(DropPeer{peer, "the job has ended"});
    return;
  }
  if (const auto reason = refusal_of(join)) return refuse(peer, *reason);
  if (knows_better(join)) return send_to_leader(peer);
  if (Node* const node = nodes_.find(join.node)) {
    node->address = address;
    return reconnect(*node, peer, join, now);
  }
  add(peer, join, address, now);
}

/// Why the node cannot take part; nullopt when it can.
std::optional<std::string> CoordinatorMachine::refusal_of(const Join& join) {
  if (is_over()) return "the job has already ended";
  if (auto differs = difference(rules_, join)) return differs;
  if (const Node* known = nodes_.find(join.node)) {
    if (join.incarnation <= known->join.incarnation)
      return "the agent on " + join.host + " has joined over a newer connection already";
    if (join.node_rank != known->join.node_rank)
      return "the agent on " + join.host + " has asked for another node rank before";
    return std::nullopt;
  }
  if (join.witness && !witness_.empty()) return "the job has a witness already";
  if (nodes_.size() >= 2 * static_cast<std::size_t>(rules_.nodes_max) + kSparesReserve)
    return "a job of at most " + std::to_string(rules_.nodes_max) + " nodes has " +
           std::to_string(nodes_.size()) + ", spares among them, and takes no more of them";
  return std::nullopt;
}

void CoordinatorMachine::add(PeerId peer, const Join& join, const std::string& address,
                             TimePoint now) {
  if (join.voter.running > 0) {
    if (!returns(join, now)) return send_to_stop(peer);
    return take_back(peer, join, address, now);
  }
  Node& node = nodes_.add(peer, join, arrivals_++, now);
  node.address = address;
  if (join.voter.colocated) beside_ = join.node;
  if (join.witness) {
    witness_ = join.node;
    witness_told_ = 0;
  } else {
    chronicle_.came(join.host);
  }
  if (rules_.has_successors) {
    take_standing(node, now);
    if (!obeys(node)) return hear_voter(node);
    recount_voters_ = true;
  }
  let_in(node, joined_answer(node, now), now);
  came_back_stopped(node);
  if (node.phase() == Phase::kReady) welcome(node);
}

/// The agent has stopped its workers before it connected again. It keeps its rank and its place
/// among those that wait, and nobody has to find out first that its old connection is dead.
void CoordinatorMachine::reconnect(Node& node, PeerId peer, const Join& join, TimePoint now) {
  if (join.voter.running > 0 && !resumes(node, join)) return send_to_stop(peer);
  const Phase before = node.phase();
  actions_.push_back(DropPeer{node.peer(), "its agent has connected again"});
  if (join.voter.running > 0) return resume(node, peer, join, now);
  nodes_.reconnect(node, peer, join, now);
  recount_voters_ = true;
  node.away = false;
  if (rules_.has_successors) {
    take_standing(node, now);
    if (!obeys(node)) return hear_voter(node);
  }
  let_in(node, joined_answer(node, now), now);
  if (before == Phase::kContending) return;
  if (join.witness) return nodes_.set_phase(node, Phase::kWitnessing);
  nodes_.set_phase(node, Phase::kReady);
  if (before == Phase::kReady)
    welcome(node);
  else if (state_ == State::kRunning)
    stop_round("node " + join.host + " joined again");
}

/// A node that is ready makes a new round if there is a place for it; else it is a spare.
void CoordinatorMachine::welcome(const Node& node) {
  if (state_ != State::kRunning) return;
  if (returning_ && !returning_->absent.empty()) return;  // others are on their way
  if (members() < rules_.nodes_max)
    stop_round("node " + node.join.host + " joined");
  else
    send(node.peer(),
         Spare{round_, members(), attempt_, quorum_.proposed.version.epoch, quorum_.committed});
}

void CoordinatorMachine::refuse(PeerId peer, const std::string& reason) {
  send(peer, Refused{reason});
  actions_.push_back(DropPeer{peer, reason});
}

/// A node is alive, so nobody gets its rank. Who asks for the rank of a node that is not heard
/// waits until that is lost: it may be the same machine, started again.
void CoordinatorMachine::refuse_contenders(const Node& node, TimePoint now) {
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

/// Who has promised a later epoch to somebody else takes no vote along: it may count there.
void CoordinatorMachine::leave(Node& node, const Leave& message, TimePoint now) {
  if (obeys(node) && ddprun::is_member(node.join.voter, quorum_.committed.version)) ++left_;
  lose(node, message.reason, now);
  release_witness();
}

void CoordinatorMachine::lose(Node& node, const std::string& reason, TimePoint since) {
  const Phase phase = node.phase();
  if (node.owes_answer) --unheard_;
  if (!node.aware) {
    settles_ = false;
    --unaware_;
  }
  if (phase == Phase::kRunning || phase == Phase::kStopping)
    inquest_.lost(node.id(), reason, since);
  if (node.id() == beside_) beside_.clear();
  if (node.join.witness)
    witness_.clear();
  else
    last_loss_ = "node " + node.join.host + " lost: " + reason;
  chronicle_loss(node, reason);
  actions_.push_back(DropPeer{node.peer(), reason});
  watch_.forget(node.id());
  dump_.forget(node.id());
  recount_ = recount_voters_ = true;
  Node* const heir = nodes_.remove(node);
  if (state_ == State::kRunning && phase == Phase::kRunning) stop_round(last_loss_);
  if (heir == nullptr) return;
  nodes_.set_phase(*heir, Phase::kReady);
  welcome(*heir);
}

/// The one node of a job is in this process. However busy the machine is, it is not lost.
void CoordinatorMachine::lose_silent(TimePoint now) {
  if (rules_.in_one_process) return;
  while (!nodes_.empty() && now - nodes_.most_silent().last_heard() >= rules_.heartbeat_timeout) {
    noticed_after_ = now - nodes_.most_silent().last_heard();
    lose(nodes_.most_silent(),
         "silent for " + std::to_string(rules_.heartbeat_timeout.count()) + " ms",
         nodes_.most_silent().last_heard());
    noticed_after_ = {};
  }
}

/// A node that beats and never says that its workers have stopped keeps nobody waiting for ever.
void CoordinatorMachine::lose_unstopped(TimePoint now) {
  if (state_ != State::kStopping || now < stopping_ends_) return;
  std::vector<Node*> late;
  nodes_.for_each([&](Node& node) {
    if (node.phase() == Phase::kStopping) late.push_back(&node);
  });
  for (Node* const node : late) lose(*node, "it has not stopped its workers in time", now);
}

/// A coordinator that was itself stopped (by Ctrl-Z, on a frozen machine) has heard nobody
/// meanwhile, so nobody's silence counts until now.
void CoordinatorMachine::forgive_after_own_sleep(TimePoint now) {
  const auto slept = now - std::exchange(last_step_, now);
  if (slept <= rules_.heartbeat_timeout / 2) return;
  nodes_.all_heard(now);
  stopping_ends_ += slept;
  if (nodes_.count(Phase::kContending) == 0) return;
  nodes_.for_each([&](Node& node) { node.contends_since = now; });
}

}  // namespace ddprun
