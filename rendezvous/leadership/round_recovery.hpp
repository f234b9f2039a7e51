// RoundRecovery decides whether a round goes on under a `ddprun server` that was started again.
// Pure.
//
// Its nodes come back and tell their places. docs/internals/succession.md, section "A server that
// is started again", says why workers of two rounds are never alive together.
#pragma once

#include <optional>
#include <set>

#include "base/clock.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// Ports below it are the system's.
inline constexpr int kStorePortMin = 1024;

class RoundRecovery {
 public:
  /// Workers that a server of before has left have ended at `workers_end`, unless they are taken
  /// back: no lease is as long.
  explicit RoundRecovery(TimePoint workers_end) : workers_end_{workers_end} {}

  /// Whether the node, whose workers run, may have its place in the round that goes on: in that
  /// one, if one does, else in the one that it tells of.
  bool fits(const Join& join, int nodes_max, TimePoint now) const;

  /// The round goes on that this node tells of first.
  void begin(const HostedAssignment& round);
  bool begun() const { return round_.has_value(); }
  int nodes() const { return round_ ? round_->nodes : 0; }

  /// The node of that place is here: its workers run, or have ended.
  void take(int group_rank) { absent_.erase(group_rank); }
  int absent() const { return static_cast<int>(absent_.size()); }
  /// Whether the node was in the round that goes on.
  bool was_in_round(const HostedAssignment& place) const;

  /// Another round begins.
  void end();

  /// When workers of before have ended; TimePoint{}: all that may be left are known.
  TimePoint unknown_workers_end() const;
  /// Whether nodes that have not come back are given up.
  bool gives_up(TimePoint now) const { return absent() > 0 && now >= workers_end_; }

 private:
  TimePoint workers_end_;
  std::optional<HostedAssignment> round_;  // as its first node reported
  std::set<int> absent_;                   // group ranks of nodes that have not come back yet
};

}  // namespace ddprun
