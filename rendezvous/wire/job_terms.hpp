// What a job is started with, as its nodes and its coordinator must both know it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ddprun {

/// How workers reach the store: at the coordinator, or at their own agent, which hands on what they
/// say over its one connection.
enum class StoreAt { kLeader, kLocal };

/// What every node says of its job when it joins. The coordinator goes by what the first node says;
/// the numbers of nodes and restarts and the way to the store must be the same on all nodes.
struct JobTerms {
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;
  std::int64_t last_call_timeout_ms = 30'000;
  std::int64_t join_timeout_ms = 600'000;
  std::int64_t heartbeat_timeout_ms = 5'000;
  StoreAt store = StoreAt::kLeader;
  bool operator==(const JobTerms&) const = default;
};

/// The rules by which a job's rounds are formed: its terms, its name, and where its store is. Times
/// default to torchrun's.
struct RoundRules {
  std::string run_id;  // name of the job; "" on the command line: a fresh one
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;  // one budget for the job; lost and joining nodes do not spend it
  std::chrono::milliseconds last_call_timeout{30'000};  // for more than MIN, first round only
  std::chrono::milliseconds join_timeout{600'000};      // below MIN
  std::chrono::milliseconds heartbeat_timeout{5'000};   // silence after which a node is lost
  std::string master_addr;  // where workers find the store; "": where their node reaches us
  int master_port = 0;
  StoreAt store = StoreAt::kLeader;
};

/// The terms that a node of this job announces.
JobTerms terms_of(const RoundRules& rules);

}  // namespace ddprun
