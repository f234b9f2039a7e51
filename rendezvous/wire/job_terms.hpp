// JobTerms and RoundRules: what a job is started with. The nodes and the coordinator both know it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

/// Where workers connect to reach the job's store.
enum class StoreAt {
  kLeader,  // at the coordinator
  kLocal,   // at their own agent, which passes their bytes on over its one connection
};

/// What is done when workers hang.
enum class OnHang {
  kReport,   // it is said, and nobody is killed
  kRestart,  // it counts as a failure of those who are missing
  kStop,     // the job ends
};

/// A hang timeout of so many milliseconds is learned from the job's own pauses, or there is none.
inline constexpr std::int64_t kHangTimeoutAuto = 0;
inline constexpr std::int64_t kHangTimeoutOff = -1;

/// What a node says about its job when it joins. The coordinator goes by what the first node says,
/// and for the time that a node takes to stop its workers by what that node says. The numbers of
/// nodes and restarts and the place of the store must be the same on all nodes.
struct JobTerms {
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;
  std::int64_t last_call_timeout_ms = 30'000;
  std::int64_t join_timeout_ms = 600'000;
  std::int64_t heartbeat_timeout_ms = 5'000;
  std::int64_t shutdown_timeout_ms = 30'000;
  StoreAt store = StoreAt::kLeader;
  std::int64_t hang_timeout_ms = kHangTimeoutAuto;
  OnHang on_hang = OnHang::kReport;
  bool operator==(const JobTerms&) const = default;
};

/// The rules by which a job's rounds are formed: its terms, its name, and where its store is. The
/// times default to those of torchrun.
struct RoundRules {
  std::string run_id;  // the name of the job; "" on the command line asks for a fresh one
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;  // one budget for the whole job; lost and joining nodes do not spend it
  std::chrono::milliseconds last_call_timeout{30'000};  // wait for MAX once MIN are there; round 1
  std::chrono::milliseconds join_timeout{600'000};      // wait for MIN, then give up
  std::chrono::milliseconds heartbeat_timeout{5'000};   // a node that is silent for this is lost
  std::chrono::milliseconds shutdown_timeout{30'000};   // of workers, from SIGTERM to SIGKILL
  std::string master_addr;  // where workers find the store; "" is where their node reaches us
  int master_port = 0;      // and at which port
  StoreAt store = StoreAt::kLeader;
  std::chrono::milliseconds hang_timeout{kHangTimeoutAuto};
  OnHang on_hang = OnHang::kReport;
  /// An agent coordinates the job, and another one may follow it when it is lost. It begins as one
  /// that waits for that, or as the first.
  bool has_successors = false;
  bool stands_by = false;
  /// Who coordinates the job is decided by etcd, and not by a majority of the nodes.
  bool has_referee = false;
  std::string endpoint;  // where this coordinator is, as HOST:PORT; with successors only
  /// Where the job's coordinator may be, as HOST:PORT, in order; empty: at one place only. Who
  /// begins the job stands by until nobody at the others knows of a coordinator.
  std::vector<std::string> places;
  bool begins_job = false;
  /// The job has one node, whose agent coordinates it: neither can lose the other.
  bool in_one_process = false;
  /// A `ddprun server` coordinates the job, and nobody ever follows it. It was started at that
  /// time, and there may have been another one before it.
  bool hosted = false;
  TimePoint hosted_since;
};

/// Returns the terms that a node with these rules announces.
JobTerms terms_of(const RoundRules& rules);

}  // namespace ddprun
