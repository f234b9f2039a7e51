// JobTerms: what a job is started with. The nodes and the coordinator both know it.
#pragma once

#include <chrono>
#include <cstdint>

#include "rendezvous/messages/node_policy.hpp"
#include "rendezvous/messages/restart_policy.hpp"

namespace ddprun {

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
  bool operator==(const JobTerms&) const = default;
};

}  // namespace ddprun
