#include "rendezvous/rounds/voters.hpp"

namespace ddprun {

VoterJoined voter_joined(const Roster::Node& node, bool resumed) {
  return {.node = node.id(),
          .state = node.join.voter,
          .counters = node.join.counters,
          .standby = standby_endpoint(node),
          .witness = node.join.witness,
          .is_voter = node.phase() != Roster::Phase::kContending,
          .resumed = resumed};
}

bool outlives(const Roster::Node& node, const Leadership& leadership) {
  const bool has_workers = node.is_in_round() || node.phase() == Roster::Phase::kStopping;
  return has_workers && leadership.outlives(node.id()) != Outlives::kNo;
}

}  // namespace ddprun
