// The times of the leader lease, as shares of the job's heartbeat timeout H, and why workers of two
// rounds are never alive at the same time. Pure.
//
// A leader gives orders only while enough voters follow it. It knows of a voter that it followed at
// a moment T of the leader's own clock, because the voter has repeated T; it counts that as a
// follower until T + kFollowerCounts. With its answer to a heartbeat it grants the node a lease,
// which ends before too few followers would count.
//
//     leader's clock     T .......................... T + H   no follower of T counts on it
//     node's workers     sent .. 4/5 H .. 19/20 H             stopped, then killed
//     successor          voter repeated T .......... 11/10 H  it begins no round before that
//
// 1. A node counts its lease from when it sent the heartbeat that is answered: that was before the
//    answer. So its workers are gone before the leader's followers count no more: kLeaseUsed < 1.
// 2. It stops them before that, so that most of them end by themselves: kLeaseStops < kLeaseUsed.
// 3. A voter tells a candidate how long the leader before may count on it: kOldLease after it has
//    repeated T. It repeated T later than T, so that is longer than the leader counts, and than any
//    worker's lease: kFollowerCounts < kOldLease. What is left over is for the kernel to end
//    workers.
// 4. A leader looks at its followers more often than the difference, so that its order to stop at
//    once is out before a successor begins: kLeaseCheck < kOldLease - kFollowerCounts.
// 5. Heartbeats come often enough that one may be lost: 2 * kBeat < kLeaseStops - kTimeToLeave.
//
// All clocks are monotonic and run equally fast; none is compared with another host's. A process
// that was stopped itself kills its workers when it goes on, because its lease is over. Workers
// that the kernel cannot end, and agents that are stopped while their workers are not, are not
// held.
#pragma once

#include <chrono>

namespace ddprun {

/// A part of a heartbeat timeout.
struct Share {
  int parts;
  int whole;

  constexpr std::chrono::milliseconds of(std::chrono::milliseconds heartbeat_timeout) const {
    return heartbeat_timeout * parts / whole;
  }
  friend constexpr bool operator<(Share a, Share b) {
    return a.parts * b.whole < b.parts * a.whole;
  }
  friend constexpr Share operator-(Share a, Share b) {
    return {a.parts * b.whole - b.parts * a.whole, a.whole * b.whole};
  }
  friend constexpr Share operator*(int times, Share a) { return {times * a.parts, a.whole}; }
};

inline constexpr Share kHeartbeatTimeout{1, 1};
/// Pause between two heartbeats of an agent or a witness.
inline constexpr Share kBeat{1, 5};
/// Time after which a voter that has repeated something is no follower any more, for its leader.
inline constexpr Share kFollowerCounts{1, 1};
/// Pause between two looks of a leader at its followers.
inline constexpr Share kLeaseCheck{1, 20};
/// An agent with a lease stops its workers when its heartbeats were not answered for this long.
inline constexpr Share kLeaseStops{4, 5};
/// Workers that can stay are asked to leave their round this long before the lease ends: an answer
/// grants less than kLeaseStops if the voters' last heartbeats were a while ago.
inline constexpr Share kTimeToLeave{1, 10};
/// The most of a lease that an agent uses: its workers are killed then.
inline constexpr Share kLeaseUsed{19, 20};
/// Time for which a leader may count on a voter, as the voter tells others.
inline constexpr Share kOldLease{11, 10};
/// An agent gives up a server that it has lost this long before its lease ends, to stop its
/// workers.
inline constexpr Share kServerReserve{1, 5};

static_assert(kLeaseStops < kLeaseUsed && kLeaseUsed < kFollowerCounts,
              "workers could outlive what their leader counts on");
static_assert(kFollowerCounts < kOldLease, "a successor could begin beside the leader before");
static_assert(kLeaseCheck < kOldLease - kFollowerCounts,
              "a leader could notice too late that it has lost its followers");
static_assert(2 * kBeat < kLeaseStops - kTimeToLeave, "one lost heartbeat would stop workers");
static_assert(kServerReserve < kLeaseUsed, "no time would be left to find the server again");

// --- a lease that etcd keeps: see EtcdElection ---

/// The most of a lease of etcd's that its holder uses; the rest is for its orders to arrive.
inline constexpr Share kEtcdLeaseUsed{9, 10};
/// Pause between two renewals of the leader's key.
inline constexpr Share kEtcdRenewal{1, 5};
/// Time that a candidate who takes the key of a dead leader waits, if it alone has seen the death.
inline constexpr Share kEtcdDeathWait{1, 1};

static_assert(kEtcdLeaseUsed < kEtcdDeathWait, "the key could be used by two leaders");
static_assert(2 * kEtcdRenewal < kEtcdLeaseUsed, "one lost renewal would end the lease");

}  // namespace ddprun
