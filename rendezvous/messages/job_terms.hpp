// JobTerms: what a job is started with. The nodes and the coordinator both know it.
#pragma once

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
  kRestart,  // it counts as a failure of those who are missing
  kStop,     // the job ends
};

/// A hang timeout of so many milliseconds is learned from the job's own pauses, or there is none.
inline constexpr std::int64_t kHangTimeoutAuto = 0;
inline constexpr std::int64_t kHangTimeoutOff = -1;

/// What a node says about its job when it joins. The coordinator goes by what the first node says,
/// and for the time that a node takes to stop its workers by what that node says. The numbers of
/// nodes and restarts, their policies and the place of the store must be the same on all nodes.
struct JobTerms {
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;
  RestartPolicy restarts;
  std::int64_t last_call_timeout_ms = 30'000;
  std::int64_t join_timeout_ms = 600'000;
  std::int64_t heartbeat_timeout_ms = 5'000;
  std::int64_t shutdown_timeout_ms = 30'000;
  StoreAt store = StoreAt::kLeader;
  std::int64_t hang_timeout_ms = kHangTimeoutAuto;
  OnHang on_hang = OnHang::kReport;
  NodePolicy node_policy;
  bool operator==(const JobTerms&) const = default;
};

}  // namespace ddprun
