#include "rendezvous/leadership/former_leader.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "rendezvous/leadership/ballot.hpp"
#include "rendezvous/messages/message_limits.hpp"

namespace ddprun {

namespace {

/// Whether the voter was a node of the committed configuration, or of the proposed one.
bool was_member(const Voter& voter, const JointQuorum& quorum) {
  return is_member(voter.state, quorum.committed.version) ||
         is_member(voter.state, quorum.proposed.version);
}

/// Whether all nodes of the last rounds that are here have found that their leader's process is
/// gone, and had not lost it before. A witness has no way to know that, and a spare had no workers.
bool leader_is_dead(const VoterTable& voters, const JointQuorum& quorum) {
  bool all = true;
  voters.for_each([&](const Voter& voter) {
    const bool counts = voter.is_voter && !voter.witness && was_member(voter, quorum);
    if (counts && !voter.state.leader_dead) all = false;
  });
  return all;
}

/// How many nodes of the last round that was begun are known to be gone, as voters of it tell who
/// are here.
int dead_members(const VoterTable& voters, const JointQuorum& quorum) {
  std::set<int> dead;
  std::set<int> here;
  voters.for_each([&](const Voter& voter) {
    if (voter.state.proposed.version != quorum.latest().version) return;
    if (voter.follows()) here.insert(voter.state.proposed.rank);
    if (const auto ranks = parse_number_list(voter.state.dead_ranks, kNodesMax))
      dead.insert(ranks->begin(), ranks->end());
  });
  return static_cast<int>(std::ranges::count_if(
      dead, [&](int rank) { return rank < quorum.latest().voters && !here.contains(rank); }));
}

int missing(const VoterTable& voters, const JointQuorum& quorum) {
  return quorum.missing(votes_of(voters, quorum, &Voter::follows));
}

}  // namespace

void FormerLeader::hear(const VoterState& voter, TimePoint now) {
  leases_end_ = std::max(leases_end_, now + std::chrono::milliseconds{voter.old_lease_ms});
  last_came_ = now;
  spares_ = std::max(spares_, voter.spares);
  if (const auto ranks = parse_number_list(voter.dead_ranks, kNodesMax))
    gone_.insert(ranks->begin(), ranks->end());
}

void FormerLeader::begin(bool abandoned) {
  elected_ = true;
  abandoned_ = abandoned;
}

/// Voters that have seen the former leader's end have got all its messages: if it had begun a round
/// with others, one of them would know.
bool FormerLeader::is_over(const VoterTable& voters, const JointQuorum& quorum,
                           TimePoint now) const {
  if (!elected_ || now >= leases_end_) return true;
  if (abandoned_) return false;  // nodes that are not here may have workers of that round
  return leader_is_dead(voters, quorum) && missing(voters, quorum) <= dead_members(voters, quorum);
}

/// All voters may come but the leader that is lost, and others that are known to be gone. These are
/// looked up only when so few are missing that it may be them: thousands come one after the other.
bool FormerLeader::may_come(const VoterTable& voters, const JointQuorum& quorum, int nodes_max,
                            TimePoint now) const {
  if (!elected_) return false;
  if (voters.undecided() > 0 && now < gathering_since_ + kVotePatience) return true;
  const int here = voters.nodes_following();
  const int all = std::max(quorum.committed.voters, quorum.proposed.voters) + spares_ -
                  voters.witnesses_following();
  const bool is_time = now < std::min(last_came_ + kArrivalPause, gathering_since_ + kArrivalsMax);
  if (!is_time || here >= std::min(all - 1, nodes_max)) return false;
  if (here < all - static_cast<int>(gone_.size())) return true;
  return here < all - dead_members(voters, quorum);
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
