// Ballot: for which epoch votes are requested, and how many there are. Pure.
//
// A job may have thousands of nodes, so votes are not counted again for each message: counts are
// kept, and made again only when other nodes have a vote.
#pragma once

#include <cstdint>
#include <functional>

#include "rendezvous/leadership/joint_quorum.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

/// Counts the voters for whom `counts` holds.
Votes votes_of(const VoterTable& voters, const JointQuorum& quorum,
               const std::function<bool(const Voter&)>& counts);

class Ballot {
 public:
  /// A voter has promised that epoch to somebody.
  void hear(std::int64_t promised) { highest_ = std::max(highest_, promised); }
  /// The highest epoch that is known to have been promised, or was requested.
  std::int64_t highest() const { return std::max(highest_, requested_); }
  std::int64_t requested() const { return requested_; }

  /// Whether votes for a higher epoch have to be requested: somebody has promised the last one.
  bool is_stale(std::int64_t epoch) const { return requested_ <= std::max(highest_, epoch); }
  /// Requests votes for a higher epoch from now on.
  void raise(std::int64_t epoch);

  /// It has changed whose votes count, or a voter is gone.
  void recount() { recount_granted_ = recount_present_ = true; }

  /// Counts the voter among those present, and returns how many these are.
  const Votes& count_present(const Voter& voter, const VoterTable& voters,
                             const JointQuorum& quorum);
  /// Counts the vote that the voter has given, and returns how many there are.
  const Votes& count_granted(const Voter& voter, const VoterTable& voters,
                             const JointQuorum& quorum);
  const Votes& granted() const { return granted_; }
  const Votes& present() const { return present_; }

 private:
  std::int64_t highest_ = 0;    // that a voter had promised when it came
  std::int64_t requested_ = 0;  // the last epoch for which votes were requested
  Votes granted_;               // votes of those that are here, for `requested_`
  bool recount_granted_ = true;
  Votes present_;  // votes that the voters present could give
  bool recount_present_ = true;
};

}  // namespace ddprun
