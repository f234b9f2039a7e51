// Commitment: which configuration a leader has proposed, and whether all voters that must know of
// it do. Then it is committed. Pure.
#pragma once

#include <string>

#include "rendezvous/leadership/joint_quorum.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

class Commitment {
 public:
  const JointQuorum& quorum() const { return quorum_; }

  /// Takes what a voter knows into account. Returns whether that changes whose votes count.
  bool hear(const VoterState& voter);

  /// One of the voters that have to know of the proposal never will.
  void abandon_proposal() { quorum_.abandon_proposal(); }

  /// Ranks, in the committed configuration, of the voters that must know of what is proposed next.
  std::string awaited(const VoterTable& voters) const;

  /// All followers are to learn of `round`, and have to acknowledge it.
  void propose(const Configuration& round, VoterTable& voters);

  /// The voter knows that configuration. Returns whether the proposal is committed by that.
  bool knows(Voter& voter, const ConfigurationVersion& version);

  /// The voter is gone. If it did not know of the proposal, that never commits.
  void lose(const Voter& voter);

 private:
  JointQuorum quorum_;
  int unaware_ = 0;       // followers that may not know of the proposal yet
  bool pending_ = false;  // the proposal commits once they all do
};

}  // namespace ddprun
