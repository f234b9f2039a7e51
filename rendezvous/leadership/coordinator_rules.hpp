// CoordinatorRules: what a job's coordinator goes by: the job's terms, its name, where its store
// is, and how it is decided who coordinates; and what a node's process is there for meanwhile.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

/// How it is decided who coordinates a job.
enum class LeadershipKind {
  kAlone,    // this coordinator has no successor: the job's one node is in its process
  kElected,  // the nodes vote for a successor
  kEtcd,     // an etcd decides
  kServer,   // a `ddprun server` coordinates, which may be started again
};

/// How a coordinator begins.
enum class Begins {
  kLeading,     // as the job's first coordinator
  kStandingBy,  // until another one is lost
  kAsking,      // the others first: the job may go on elsewhere
};

struct CoordinatorRules {
  std::string run_id;  // the name of the job; "" on the command line asks for a fresh one
  JobTerms terms;
  std::string master_addr;  // where workers find the store; "" is where their node reaches us
  int master_port = 0;      // and at which port

  LeadershipKind leadership = LeadershipKind::kAlone;
  Begins begins = Begins::kLeading;
  std::string endpoint;  // where this coordinator is, as HOST:PORT
  /// Where the job's coordinator may be, as HOST:PORT, in order; empty: at one place only.
  std::vector<std::string> places;
  TimePoint server_since;  // when the server was started, before which there may have been another
};

/// Whether silence shows that a node is lost. One that is alone, and in the coordinator's process,
/// is not, however busy the machine is.
inline bool counts_silence(const CoordinatorRules& rules) {
  return !rules.terms.has_one_node() || rules.leadership != LeadershipKind::kAlone;
}

/// Whether another agent may follow a coordinator of that kind.
constexpr bool can_be_followed(LeadershipKind kind) {
  return kind == LeadershipKind::kElected || kind == LeadershipKind::kEtcd;
}

/// Standby: what the process of a node is there for while another one coordinates the job.
enum class Standby {
  kNotAtAll,    // no node looks for it
  kShowsLife,   // it listens at any port: a `ddprun server` finds that the process is alive
  kMaySucceed,  // it may succeed the coordinator: it listens at the port that others know if that
                // is free, and else at one that they learn
};

/// How a node stands by in a job of that kind. `served`: a `ddprun server` may coordinate it.
constexpr Standby standby_of(LeadershipKind kind, bool served) {
  if (can_be_followed(kind)) return Standby::kMaySucceed;
  const bool is_looked_for = served || kind == LeadershipKind::kServer;
  return is_looked_for ? Standby::kShowsLife : Standby::kNotAtAll;
}

}  // namespace ddprun
