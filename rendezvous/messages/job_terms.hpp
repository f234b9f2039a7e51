// JobTerms: what a job is started with, which the nodes and the coordinator both know: its
// policies of restarts and of failing nodes, and the times that both count on. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ddprun {

// NodePolicy: when a node that was the cause of failures is left out of a job's rounds.

inline constexpr int kNodeStrikes = 3;                     // where failures are kept in a folder
inline constexpr std::int64_t kNodeWindowMs = 86'400'000;  // a day
/// This many failures of nodes are remembered, the last ones.
inline constexpr int kNodeFailuresMax = 1000;

struct NodePolicy {
  /// A node that was the cause of this many failures takes part only while others are too few; 0:
  /// failures are not counted.
  int strikes = 0;
  std::int64_t window_ms = kNodeWindowMs;  // in which they have to lie
  bool operator==(const NodePolicy&) const = default;
};

/// A policy as the command line spells it: "3/1d"; "0": no node counts.
std::string strikes_text(const NodePolicy& policy);

// RestartPolicy: which restarts a job's --max-restarts counts, how long one waits for the next, and
// when a job gives up before they are spent.

/// Which of the restarts after failures --max-restarts counts.
enum class CountedRestarts {
  kAll,            // "3": those of the whole job, as torchrun does
  kWithinWindow,   // "3/1h": those of the last hour
  kSinceProgress,  // "3@progress": those since the job was further than ever before
};

/// A window holds at most this many restarts: their times are kept.
inline constexpr int kRestartsPerWindowMax = 1000;

struct RestartPolicy {
  CountedRestarts counted = CountedRestarts::kAll;
  std::int64_t window_ms = 0;     // how long a window is; 0: there is none
  std::int64_t delay_min_ms = 0;  // the pause before a restart
  std::int64_t delay_max_ms = 0;  // and what it grows to while restarts gain nothing
  /// This many failures with the same cause, and no step gained between them, end the job; 0: they
  /// do not.
  int same_failure_limit = 0;
  bool operator==(const RestartPolicy&) const = default;
};

/// A time in the greatest unit that divides it, as the command line takes it: "1h", "90s", "1.5s".
std::string span_text(std::int64_t ms);
/// A budget as --max-restarts spells it: "3", "3/1h", "3@progress".
std::string budget_text(int restarts_max, const RestartPolicy& policy);
/// A pause as --restart-delay spells it: "0:60s", "5s"; "0": there is none.
std::string delay_text(const RestartPolicy& policy);
/// The number of a restart, for people: "2 of 3", "7 (--max-restarts 3/1h)".
std::string restart_number_text(int restart, int restarts_max, const RestartPolicy& policy);

// Times that agents and the coordinator both count on: the coordinator waits for a node as long as
// it takes at most to end the workers of a round, once their time to end by themselves is over.

/// Time in which a worker may vanish after SIGKILL before it is given up with a warning.
inline constexpr std::chrono::milliseconds kKillTimeout{10'000};
/// Time in which what workers left behind may vanish after SIGKILL.
inline constexpr std::chrono::milliseconds kSweepTimeout{5'000};

/// A worker that only lost a peer stops the round after this delay, unless the peer's own failure
/// arrives first: tearing a large program down takes its time, and its connections are closed early
/// in that.
inline constexpr std::chrono::seconds kCausePatience{2};

/// Time that a process whose agent has ended gives its connections, and an etcd, for last words.
inline constexpr std::chrono::milliseconds kLastWords{2'000};

/// Where workers connect to reach the job's store.
enum class StoreAt {
  kLeader,  // at the coordinator
  kLocal,   // at their own agent, which passes their bytes on over its one connection
};

/// What is done when workers hang.
enum class OnHang {
  kReport,   // it is reported, and nothing is killed
  kRestart,  // it counts as a failure of the missing ranks
  kStop,     // the job ends
};

/// With this hang timeout the limit is learned from the job's own pauses, or there is none.
inline constexpr std::chrono::milliseconds kHangTimeoutAuto{0};
inline constexpr std::chrono::milliseconds kHangTimeoutOff{-1};

/// What a node says about its job when it joins. The coordinator goes by what the first node says,
/// and for the time that a node takes to stop its workers by what that node says. The numbers of
/// nodes and restarts, their policies and the place of the store must be the same on all nodes. The
/// times default to those of torchrun.
struct JobTerms {
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;  // lost and joining nodes do not spend them; `restarts` says which count
  RestartPolicy restarts;
  std::chrono::milliseconds last_call_timeout{30'000};  // wait for MAX once MIN are there; round 1
  std::chrono::milliseconds join_timeout{600'000};      // wait for MIN, then give up
  std::chrono::milliseconds heartbeat_timeout{5'000};   // a node that is silent for this is lost
  std::chrono::milliseconds shutdown_timeout{30'000};   // a worker's, from SIGTERM to SIGKILL
  StoreAt store = StoreAt::kLeader;
  std::chrono::milliseconds hang_timeout = kHangTimeoutAuto;
  OnHang on_hang = OnHang::kReport;
  NodePolicy node_policy;
  bool checkpoints = false;  // the program's are kept: --checkpoints

  bool has_one_node() const { return nodes_max == 1; }
  bool operator==(const JobTerms&) const = default;
};

}  // namespace ddprun
