#include "rendezvous/leadership/witness_seat.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool WitnessSeat::invites(bool wanted, bool leads, TimePoint now) {
  if (!wanted || now < invite_due_) return false;
  invite_due_ = now + (leads ? kInvitePause : kCandidateInvitePause);
  return true;
}

NodeId WitnessSeat::wanted_voter(int round_nodes, const VoterTable& voters) const {
  return voters.witnesses_following() > 0 && round_nodes % 2 == 0 ? id_ : NodeId{};
}

bool WitnessSeat::wants_change(int round_nodes, const VoterTable& voters, TimePoint now) const {
  return voting_ != wanted_voter(round_nodes, voters) && now >= change_due_;
}

/// Where a node begins a round only because the witness votes, the next leader may be another node
/// with the same witness. So that one has to know how many restarts were spent.
std::optional<StopRound> WitnessSeat::tell_attempt(int attempt, bool alone, int round,
                                                   VoterTable& voters) {
  const Voter* const witness = voters.find(id_);
  attempt_needed_ = witness != nullptr && witness->follows() && !alone ? attempt : 0;
  if (knows_attempt(voters) || std::exchange(attempt_sent_, attempt) == attempt)
    return std::nullopt;
  return StopRound{round, "the next round is about to begin", 0, attempt};
}

bool WitnessSeat::knows_attempt(const VoterTable& voters) const {
  const Voter* const witness = voters.find(id_);
  return witness == nullptr || witness->counters.attempt >= attempt_needed_;
}

void WitnessSeat::answered(VoterTable& voters) {
  if (Voter* const witness = voters.find(id_))
    witness->counters.attempt = std::max(witness->counters.attempt, attempt_sent_);
}

}  // namespace ddprun
