// Standby: what the process of a node is there for while another one coordinates the job. Pure.
#pragma once

#include "rendezvous/leadership/leadership_rules.hpp"

namespace ddprun {

enum class Standby {
  kNotAtAll,    // nobody looks for it
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
