// Term: all that an elected leader, or a candidate, knows from the first voter that comes to it to
// when it steps down. So stepping down is one assignment. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/leadership/commitment.hpp"
#include "rendezvous/leadership/extra_voter.hpp"
#include "rendezvous/leadership/former_leader.hpp"
#include "rendezvous/leadership/leader_lease.hpp"
#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

struct Term {
  explicit Term(std::chrono::milliseconds heartbeat_timeout)
      : timeout{heartbeat_timeout}, lease{heartbeat_timeout} {}

  std::chrono::milliseconds timeout;  // the heartbeats'
  bool leads = false;                 // false: it is a candidate
  std::int64_t epoch = 0;             // the leader's; 0: a candidate has none
  std::string endpoint;               // this coordinator's, as HOST:PORT
  VoterTable voters;
  Commitment commitment;
  LeaderLease lease;
  FormerLeader former;
  ExtraVoter extra;
  NodeId colocated;                    // the agent in this process, if it is here
  int left = 0;                        // voters of the committed round that have left for good
  int round_nodes = 0;                 // nodes of the last round that was begun here
  std::vector<Successor> successors;   // as told with the last round that was begun here
  std::vector<NodeId> successor_ids;   // the ids of these nodes
  bool gathers = false;                // nodes are waited for
  std::vector<std::string> announced;  // endpoints at which this leader is announced
  TimePoint announce_due;              // the next time; TimePoint{}: at once

  const JointQuorum& quorum() const { return commitment.quorum(); }
};

/// How many voters of that configuration must follow, when `left` of them have left for good.
int votes_needed(const Term& term, const Configuration& configuration, int left);

/// Until when no other can have been elected: that takes more than half of the voters, and at
/// least half follow this leader.
TimePoint quorum_ends(const Term& term);
bool has_quorum(const Term& term, TimePoint now);

/// The first kSuccessorsMax of `members`, which are ordered by rank, that may follow this leader.
std::vector<Successor> successors_among(const Term& term, const std::vector<NodeId>& members);

/// The most that voters of earlier rounds have reported of the job.
JobCounters counters_of_voters(const Term& term);

/// Others vote in the round from now on: its nodes, and `extra` unless that is empty.
/// The round goes on meanwhile.
void revise(Term& term, const NodeId& extra, LeadershipActions& actions);

/// The voter takes orders from now on.
void admit(Term& term, Voter& voter, LeadershipActions& actions);

/// A leader that has begun nothing yet needs votes like every candidate: no node follows it any
/// more.
void become_candidate(Term& term, LeadershipActions& actions);

/// What a candidate knows of the leader: the voters that are here have lost theirs. Its epoch is 0
/// when none of them has been in a round.
Leader leader_lost(const Term& term);

/// Whether all nodes have left in order, and a witness is here: the job is over, though no node has
/// ended it.
bool is_deserted(const Term& term);

/// Whether a witness is looked for at the job's places. A candidate wants it only beside a node: it
/// has no other vote then.
bool wants_witness(const Term& term, const std::vector<std::string>& places);
/// The invitation of a witness to vote here. `round` is the last one that is known.
InviteWitness invitation(const Term& term, const CoordinatorRules& rules, int round);

/// Lets a witness or a spare vote beside the nodes of the round that runs, or no longer. Returns
/// whether others vote now.
bool choose_extra_voter(Term& term, const RoundView& round, TimePoint now,
                        LeadershipActions& actions);

/// Whether the nodes that follow elect a leader without the witness.
bool nodes_elect_alone(const Term& term);
/// Whether a round that was begun because the witness votes is known to it. Before that another
/// node may go on with that witness, from the round before.
bool witness_knows_round(const Term& term);

}  // namespace ddprun
