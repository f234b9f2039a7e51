// JointQuorum: whose votes decide who coordinates a job. Pure.
//
// A lost leader's successor needs the votes of the majority of the last round. Some nodes may not
// have heard of that round when its leader is lost, and they would count the votes of another one.
// So a round decides only when it is committed: when all its nodes, and those of the committed
// round before it that are left, know of it. As long as it is only proposed, a successor needs the
// majority of both: that is Raft's joint consensus (https://raft.github.io/raft.pdf, section 6). It
// is too much when few have heard of the proposal. But if a node that has to know of it has voted,
// and does not know it, the proposal never commits: a node that has voted follows the old leader no
// more. Then the committed round's majority is enough. The first round of a job is committed from
// its beginning, because no node could vote by another one.
#pragma once

#include <vector>

#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// How many voters of the two configurations are on somebody's side.
struct Votes {
  int committed = 0;
  int proposed = 0;
  int unaware = 0;  // voters without whom the proposal does not commit: they know nothing of it
  bool operator==(const Votes&) const = default;
};

struct JointQuorum {
  Configuration committed;  // `member` is not used; voters 0: no round was begun yet
  Configuration proposed;   // the last one that was begun; perhaps the committed one

  bool operator==(const JointQuorum&) const = default;

  ConfigurationVersion abandoned = {};  // proposals up to this one never commit, if they have not
  std::vector<int> awaited = {};  // ranks in `committed` that must know of `proposed`, ascending

  /// Takes what `voter` knows into account.
  void hear(const VoterState& voter);

  /// Whether there is a round, so that there is somebody to be asked.
  bool exists() const { return committed.voters > 0; }

  void count(Votes& votes, const VoterState& voter) const;

  /// Goes back to the committed configuration: one of the voters that have to know of the proposal
  /// never will.
  void abandon_proposal();

  /// More than half of each configuration: no other can have as many.
  bool elects(const Votes& votes) const;

  /// Whether the last round that was begun is not committed, and another one is.
  bool is_joint() const { return proposed.version > committed.version; }

  /// The last round that was begun. Nodes that are in no other than earlier ones have no workers:
  /// no leader begins a round before that is so.
  const Configuration& latest() const { return is_joint() ? proposed : committed; }
  /// How many of the latest configuration are missing among `votes`.
  int missing(const Votes& votes) const;
};

/// Votes that elect: more than half, so no other can have as many.
constexpr int votes_to_win(int voters) { return voters / 2 + 1; }
/// Followers that keep a leader: half of the voters, so no other can have enough to win.
constexpr int votes_to_stay(int voters) { return (voters + 1) / 2; }

/// Whether the voter has heard of a round of its job.
bool knows_a_round(const VoterState& voter);
/// Whether the voter is one of that configuration.
bool is_member(const VoterState& voter, const ConfigurationVersion& version);
/// The voter's rank there; -1: it is no member, or has not told.
int rank_in(const VoterState& voter, const ConfigurationVersion& version);

}  // namespace ddprun
