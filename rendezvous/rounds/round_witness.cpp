// The part of CoordinatorMachine that decides when a witness votes: docs/protocol.md, section "The
// witness".

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

using Phase = Roster::Phase;
using Node = Roster::Node;

/// It is one of the places that the job names.
bool CoordinatorMachine::may_have_witness() const {
  return rules_.has_successors && !rules_.has_referee && rules_.places.size() > 1;
}

/// One who coordinates nothing yet wants it only beside a node: the witness has no other vote then.
bool CoordinatorMachine::wants_witness() const {
  if (!may_have_witness() || is_over() || !witness_.empty()) return false;
  return coordinates() || (quorum_.exists() && !beside_.empty());
}

InviteWitness CoordinatorMachine::invitation() const {
  const bool leads = coordinates();
  const int known = std::max(round_, quorum_.proposed.version.round);
  return {rules_.run_id, epoch(), known,
          leads || beside_.empty() ? rules_.endpoint : standby_endpoint(*nodes_.find(beside_)),
          rules_.join_timeout.count()};
}

/// Of an even number of nodes one half is no majority, so a witness votes with them. With an odd
/// number it would only be one more who may be missing. The round goes on meanwhile: who votes
/// changes as from one round to the next.
void CoordinatorMachine::change_voters(TimePoint now) {
  if (state_ != State::kRunning || !may_have_witness()) return;
  const bool votes = nodes_.count(Phase::kWitnessing) > 0 && round_nodes_ % 2 == 0;
  if (voting_witness_ == (votes ? witness_ : "") || now < voters_due_) return;
  if (may_change_voters(now)) return begin_edition(votes ? nodes_.find(witness_) : nullptr);
  voters_due_ = now + rules_.heartbeat_timeout / 20;  // looking at all nodes takes a while
}

/// All who have to know of it are to hear of it now, and somebody else must not have been elected.
bool CoordinatorMachine::may_change_voters(TimePoint now) const {
  bool all_hear = members() == round_nodes_;
  nodes_.for_each([&](const Node& node) {
    if (has_to_know(node)) all_hear &= !node.away;
  });
  return all_hear && has_authority(now);
}

void CoordinatorMachine::begin_edition(const Node* voting) {
  Configuration round{quorum_.proposed.version, round_nodes_ + (voting != nullptr ? 1 : 0), false};
  ++round.version.revision;
  voting_witness_ = voting != nullptr ? voting->id() : "";
  const std::string list = awaited();
  begin_to_settle(round);
  bool leader_is_member = false;
  nodes_.for_each([&](const Node& node) {
    leader_is_member |= node.join.voter.colocated && node.group_rank >= 0;
  });
  nodes_.for_each([&](Node& node) {
    if (!has_to_know(node)) return;
    Configuration& known = node.join.voter.proposed;
    const bool runs = node.phase() == Phase::kRunning || node.phase() == Phase::kFinished;
    known.member = runs || &node == voting;
    if (known.member) known.rank = runs ? node.group_rank : round_nodes_;
    Reconfigure message{known, voting != nullptr, leader_is_member};
    message.round.awaited = list;
    send(node.peer(), std::move(message));
  });
}

/// Whether the nodes that obey could do without the vote of the witness.
bool CoordinatorMachine::nodes_elect_alone() const {
  const auto obeys = [&](const Node& node) { return has_to_know(node) && !node.join.witness; };
  const Votes votes = votes_of(obeys);
  const bool needs_both = elected_ && quorum_.is_joint();
  return votes.committed >= votes_needed(quorum_.committed, left_) &&
         (!needs_both || votes.proposed >= votes_needed(quorum_.proposed, 0));
}

/// A round that was begun only because the witness votes ends the job when that one knows of it.
/// Before that another node may go on with the same witness, from the round of before.
bool CoordinatorMachine::witness_knows_round() const {
  return witness_.empty() || !quorum_.is_joint() || nodes_elect_alone();
}

/// Where a node begins a round only because the witness votes, the next coordinator may be another
/// node with the same witness. So that one has to know how many restarts were spent. That is asked
/// for here, and the answer comes before the round begins.
bool CoordinatorMachine::witness_knows_attempt() {
  if (witness_.empty() || !quorum_.exists() || nodes_elect_alone()) return true;
  const Node& witness = *nodes_.find(witness_);
  int attempt = attempt_;
  nodes_.for_each([&](const Node& node) {
    if (node.phase() == Phase::kReady) attempt = std::max(attempt, node.join.counters.attempt);
  });
  if (witness.phase() != Phase::kWitnessing || witness.join.counters.attempt >= attempt)
    return true;
  if (std::exchange(witness_told_, attempt) != attempt)
    send(witness.peer(), StopRound{round_, "the next round is about to begin", 0, attempt});
  return false;
}

/// All nodes have left in order: the job is over, though nobody has ended it, and another one may
/// have its name.
void CoordinatorMachine::release_witness() {
  const int nodes = quorum_.committed.voters - (voting_witness_.empty() ? 0 : 1);
  if (!coordinates() || witness_.empty() || nodes_.size() > 1 || left_ < nodes) return;
  send(nodes_.find(witness_)->peer(), Dismiss{});
}

/// The last node that had a vote here has gone, so the witness may vote elsewhere.
void CoordinatorMachine::drop_idle_witness() {
  if (coordinates() || witness_.empty() || nodes_.size() > 1) return;
  lose(*nodes_.find(witness_), "nobody else votes here", last_step_);
}

}  // namespace ddprun
