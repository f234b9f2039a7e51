#include "rendezvous/leadership/former_leader.hpp"

#include <algorithm>

namespace ddprun {

namespace {

/// Whether all nodes of the last rounds that are here have found that their leader's process is
/// gone, and had not lost it before. A witness has no way to know that.
bool leader_is_dead(const VoterTable& voters) {
  bool all = true;
  voters.for_each([&](const Voter& voter) {
    const bool counts = voter.has_voice && !voter.witness;
    if (counts && voter.state.proposed.version.round > 0 && !voter.state.leader_dead) all = false;
  });
  return all;
}

/// Whether the leader before was itself a node of the committed round, and may be the only one that
/// is missing of it. Of a round that is only proposed too little is known.
bool leader_was_member(const VoterTable& voters, const JointQuorum& quorum) {
  if (quorum.is_joint()) return false;
  bool member = false;
  bool all = true;
  voters.for_each([&](const Voter& voter) {
    if (!voter.follows() || voter.witness || !is_member(voter.state, quorum.committed.version))
      return;
    if (voter.state.leader_is_member)
      member = true;
    else
      all = false;
  });
  return member && all;
}

int missing(const VoterTable& voters, const JointQuorum& quorum) {
  Votes here;
  voters.for_each([&](const Voter& voter) {
    if (voter.follows()) quorum.count(here, voter.state);
  });
  return quorum.missing(here);
}

}  // namespace

void FormerLeader::hear(std::int64_t old_lease_ms, TimePoint now) {
  leases_end_ = std::max(leases_end_, now + std::chrono::milliseconds{old_lease_ms});
  last_came_ = now;
}

void FormerLeader::begin(bool abandoned) {
  elected_ = true;
  abandoned_ = abandoned;
}

/// Those who have seen that the leader before is dead have heard all that it had told them: if it
/// had begun a round with others, one of them would know.
bool FormerLeader::is_over(const VoterTable& voters, const JointQuorum& quorum,
                           TimePoint now) const {
  if (!elected_ || now >= leases_end_) return true;
  if (abandoned_) return false;  // nodes that are not here may have workers of that round
  return leader_is_dead(voters) &&
         missing(voters, quorum) <= (leader_was_member(voters, quorum) ? 1 : 0);
}

/// All but the leader that is lost may come.
bool FormerLeader::may_come(const VoterTable& voters, const JointQuorum& quorum, int nodes_max,
                            TimePoint now) const {
  if (!elected_) return false;
  if (voters.undecided() > 0 && now < gathering_since_ + kVotePatience) return true;
  const int expected = std::max(quorum.committed.voters, quorum.proposed.voters) - 1;
  return voters.nodes_following() < std::min(expected - voters.witnesses_following(), nodes_max) &&
         now < std::min(last_came_ + kArrivalPause, gathering_since_ + kArrivalsMax);
}

std::optional<TimePoint> FormerLeader::next_change(TimePoint now) const {
  if (!elected_) return std::nullopt;
  std::optional<TimePoint> next;
  for (const TimePoint t : {leases_end_, gathering_since_ + kVotePatience,
                            last_came_ + kArrivalPause, gathering_since_ + kArrivalsMax})
    if (t > now) next = next ? std::min(*next, t) : t;
  return next;
}

}  // namespace ddprun
