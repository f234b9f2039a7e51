// FormerLeader: what an elected leader has to wait for before its first round: leases of the leader
// before, and nodes that are on their way. Pure. docs/internals/succession.md, section "Leases".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>

#include "rendezvous/leadership/joint_quorum.hpp"
#include "rendezvous/leadership/voter_table.hpp"

namespace ddprun {

/// An elected leader waits this long for votes of others that are there.
inline constexpr std::chrono::milliseconds kVotePatience{100};
/// It waits for nodes of the last round as long as they come this soon one after the other, and not
/// longer than that in all: each that comes later makes a new round.
inline constexpr std::chrono::milliseconds kArrivalPause{100};
inline constexpr std::chrono::milliseconds kArrivalsMax{1'000};

class FormerLeader {
 public:
  /// A voter has come at `now` that knows this.
  void hear(const VoterState& voter, TimePoint now);

  /// This leader was elected, and another one may have begun rounds before it. `abandoned`: a
  /// proposal of that one is passed over, whose nodes may have workers.
  void begin(bool abandoned);
  /// A round of this leader's is committed: nothing is left of the leader before.
  void end() { elected_ = abandoned_ = false; }
  bool elected() const { return elected_; }

  /// Nodes are waited for from now on.
  void gather(TimePoint now) { gathering_since_ = now; }

  TimePoint leases_end() const { return leases_end_; }

  /// Whether no worker of an earlier round can be alive.
  bool is_over(const VoterTable& voters, const JointQuorum& quorum, TimePoint now) const;
  /// Whether voters may come soon that are better waited for. A round has at most `nodes_max`
  /// nodes.
  bool may_come(const VoterTable& voters, const JointQuorum& quorum, int nodes_max,
                TimePoint now) const;
  /// The first of the times after `now` at which these answers may change.
  std::optional<TimePoint> next_change(TimePoint now) const;

 private:
  bool elected_ = false;
  bool abandoned_ = false;
  TimePoint leases_end_;  // leases of former leaders, as far as voters know
  TimePoint last_came_;   // when a voter has come last
  TimePoint gathering_since_;
  int spares_ = 0;      // nodes that waited for a place, as the leader before sent it last
  std::set<int> gone_;  // ranks of nodes that voters have found gone, in whatever configuration
};

}  // namespace ddprun
