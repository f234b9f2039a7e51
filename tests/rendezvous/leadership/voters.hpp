// Voters for the tests of what elected leaders decide by.
#pragma once

#include <string>
#include <vector>

#include "rendezvous/leadership/joint_quorum.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

inline constexpr ConfigurationVersion kFirst{1, 1};
inline constexpr ConfigurationVersion kSecond{1, 2};

/// A node of the committed round `version`, which has that many voters.
inline Voter member(const NodeId& id, int rank, int voters,
                    const ConfigurationVersion& version = kFirst) {
  const Configuration round{version, voters, true, rank};
  return {.id = id, .state = {.epoch = 1, .promised = 1, .proposed = round, .committed = round}};
}

/// A witness that votes in the committed round.
inline Voter voting_witness(int rank, int voters) {
  Voter witness = member("w", rank, voters);
  witness.witness = true;
  return witness;
}

/// A node that has heard of no round.
inline Voter newcomer(const NodeId& id) { return {.id = id}; }

/// Nodes a, b, c and so on, `here` of a round that has `voters`.
inline VoterTable members(int here, int voters) {
  VoterTable table;
  for (int rank = 0; rank < here; ++rank)
    table.put(member(NodeId(1, static_cast<char>('a' + rank)), rank, voters));
  return table;
}

/// What these voters know together.
inline JointQuorum quorum_of(const VoterTable& voters) {
  JointQuorum quorum;
  voters.for_each([&](const Voter& voter) { quorum.hear(voter.state); });
  return quorum;
}

}  // namespace ddprun
