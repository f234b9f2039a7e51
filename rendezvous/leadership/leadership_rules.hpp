// How it is decided who coordinates a job, and what a node's process is there for meanwhile.
// Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

/// LeadershipRules: how it is decided who coordinates a job.
struct LeadershipRules {
  enum class Kind {
    kAlone,    // this coordinator has no successor: the job's one node is in its process
    kElected,  // the nodes vote for a successor
    kEtcd,     // an etcd decides
    kServer,   // a `ddprun server` coordinates, which may be started again
  };
  enum class Begins {
    kLeading,     // as the job's first coordinator
    kStandingBy,  // until another one is lost
    kAsking,      // the others first: the job may go on elsewhere
  };
  Kind kind = Kind::kAlone;
  Begins begins = Begins::kLeading;
  std::chrono::milliseconds heartbeat_timeout{5'000};
  std::chrono::milliseconds join_timeout{600'000};
  int nodes_max = 1;
  std::string run_id;
  std::string endpoint;  // where this coordinator is, as HOST:PORT
  /// Where the job's coordinator may be, as HOST:PORT, in order; empty: at one place only.
  std::vector<std::string> places;
  TimePoint since;  // when the server was started, before which there may have been another one
};

/// Whether another agent may follow a coordinator of that kind.
constexpr bool can_be_followed(LeadershipRules::Kind kind) {
  return kind == LeadershipRules::Kind::kElected || kind == LeadershipRules::Kind::kEtcd;
}

/// Standby: what the process of a node is there for while another one coordinates the job.
enum class Standby {
  kNotAtAll,    // no node looks for it
  kShowsLife,   // it listens at any port: a `ddprun server` finds that the process is alive
  kMaySucceed,  // it may succeed the coordinator: it listens at the port that others know if that
                // is free, and else at one that they learn
};

/// How a node stands by in a job of that kind. `served`: a `ddprun server` may coordinate it.
constexpr Standby standby_of(LeadershipRules::Kind kind, bool served) {
  if (can_be_followed(kind)) return Standby::kMaySucceed;
  const bool is_looked_for = served || kind == LeadershipRules::Kind::kServer;
  return is_looked_for ? Standby::kShowsLife : Standby::kNotAtAll;
}

}  // namespace ddprun
