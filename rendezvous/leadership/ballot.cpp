#include "rendezvous/leadership/ballot.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

Votes votes_of(const VoterTable& voters, const JointQuorum& quorum,
               const std::function<bool(const Voter&)>& counts) {
  Votes votes;
  voters.for_each([&](const Voter& voter) {
    if (counts(voter)) quorum.count(votes, voter.state);
  });
  return votes;
}

void Ballot::raise(std::int64_t epoch) {
  requested_ = std::max(highest_, epoch) + 1;
  recount_granted_ = true;
}

const Votes& Ballot::count_present(const Voter& voter, const VoterTable& voters,
                                   const JointQuorum& quorum) {
  if (std::exchange(recount_present_, false))
    present_ = votes_of(voters, quorum, &Voter::is_voter);
  else if (voter.is_voter)
    quorum.count(present_, voter.state);
  return present_;
}

const Votes& Ballot::count_granted(const Voter& voter, const VoterTable& voters,
                                   const JointQuorum& quorum) {
  const auto counts = [&](const Voter& v) { return v.is_voter && v.granted == requested_; };
  if (std::exchange(recount_granted_, false))
    granted_ = votes_of(voters, quorum, counts);
  else if (counts(voter))
    quorum.count(granted_, voter.state);
  return granted_;
}

}  // namespace ddprun
