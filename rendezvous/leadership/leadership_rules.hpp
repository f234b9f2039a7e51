// LeadershipRules: how it is decided who coordinates a job. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace ddprun {

struct LeadershipRules {
  enum class Kind {
    kAlone,    // nobody can follow this coordinator: the job's one node is in its process
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

}  // namespace ddprun
