#include "rendezvous/leadership/extra_voter.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

bool ExtraVoter::invites(bool wanted, bool leads, TimePoint now) {
  if (!wanted || now < invite_due_) return false;
  invite_due_ = now + (leads ? kInvitePause : kCandidateInvitePause);
  return true;
}

/// A witness comes first: it takes no place in the next round, so that round needs no other one.
NodeId ExtraVoter::wanted(int round_nodes, const VoterTable& voters,
                          const FirstSpare& first_spare) const {
  if (round_nodes % 2 != 0) return {};
  if (voters.witnesses_following() > 0) return witness_;
  const auto can_vote = [&](const NodeId& id) {
    const Voter* const spare = voters.find(id);
    return spare != nullptr && spare->follows() && !spare->witness && spare->rank < 0;
  };
  if (can_vote(voting_)) return voting_;
  const NodeId spare = first_spare ? first_spare() : NodeId{};
  return can_vote(spare) ? spare : NodeId{};
}

/// Where a node begins a round only because the witness votes, the next leader may be another node
/// with the same witness. So that one has to know how many restarts were spent.
std::optional<StopRound> ExtraVoter::tell_attempt(int attempt, bool alone, int round,
                                                  VoterTable& voters) {
  const Voter* const witness = voters.find(witness_);
  attempt_needed_ = witness != nullptr && witness->follows() && !alone ? attempt : 0;
  if (knows_attempt(voters) || std::exchange(attempt_sent_, attempt) == attempt)
    return std::nullopt;
  return StopRound{round, "the next round is about to begin", 0, attempt};
}

bool ExtraVoter::knows_attempt(const VoterTable& voters) const {
  const Voter* const witness = voters.find(witness_);
  return witness == nullptr || witness->counters.attempt >= attempt_needed_;
}

void ExtraVoter::answered(VoterTable& voters) {
  if (Voter* const witness = voters.find(witness_))
    witness->counters.attempt = std::max(witness->counters.attempt, attempt_sent_);
}

}  // namespace ddprun
