// CoordinatorRules: what a job's coordinator goes by: the job's terms, its name, where its store
// is, and how it is decided who coordinates. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/leadership/leadership_rules.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/restart_policy.hpp"

namespace ddprun {

/// The times default to those of torchrun.
struct CoordinatorRules {
  std::string run_id;  // the name of the job; "" on the command line asks for a fresh one
  int nodes_min = 1;
  int nodes_max = 1;
  int restarts_max = 0;  // lost and joining nodes do not spend them; `restarts` says which count
  RestartPolicy restarts;
  std::chrono::milliseconds last_call_timeout{30'000};  // wait for MAX once MIN are there; round 1
  std::chrono::milliseconds join_timeout{600'000};      // wait for MIN, then give up
  std::chrono::milliseconds heartbeat_timeout{5'000};   // a node that is silent for this is lost
  std::chrono::milliseconds shutdown_timeout{30'000};   // a worker's, from SIGTERM to SIGKILL
  std::string master_addr;  // where workers find the store; "" is where their node reaches us
  int master_port = 0;      // and at which port
  StoreAt store = StoreAt::kLeader;
  std::chrono::milliseconds hang_timeout{kHangTimeoutAuto};
  OnHang on_hang = OnHang::kReport;
  NodePolicy node_policy;

  LeadershipRules::Kind leadership = LeadershipRules::Kind::kAlone;
  LeadershipRules::Begins begins = LeadershipRules::Begins::kLeading;
  std::string endpoint;             // where this coordinator is, as HOST:PORT
  std::vector<std::string> places;  // as LeadershipRules has them
  TimePoint server_since;           // as LeadershipRules' `since`
};

/// The terms that a node with these rules announces.
JobTerms terms_of(const CoordinatorRules& rules);
/// What decides who coordinates a job with these rules.
LeadershipRules leadership_of(const CoordinatorRules& rules);

/// Whether silence shows that a node is lost. One that is alone, and in the coordinator's process,
/// is not, however busy the machine is.
bool counts_silence(const CoordinatorRules& rules);

}  // namespace ddprun
