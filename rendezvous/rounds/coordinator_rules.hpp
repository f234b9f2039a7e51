// CoordinatorRules: what a job's coordinator goes by: the job's terms, its name, where its store
// is, and how it is decided who coordinates. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/leadership/leadership_rules.hpp"
#include "rendezvous/messages/job_terms.hpp"

namespace ddprun {

struct CoordinatorRules {
  std::string run_id;  // the name of the job; "" on the command line asks for a fresh one
  JobTerms terms;
  std::string master_addr;  // where workers find the store; "" is where their node reaches us
  int master_port = 0;      // and at which port

  LeadershipRules::Kind leadership = LeadershipRules::Kind::kAlone;
  LeadershipRules::Begins begins = LeadershipRules::Begins::kLeading;
  std::string endpoint;             // where this coordinator is, as HOST:PORT
  std::vector<std::string> places;  // as LeadershipRules has them
  TimePoint server_since;           // as LeadershipRules' `since`
};

/// What decides who coordinates a job with these rules.
LeadershipRules leadership_of(const CoordinatorRules& rules);

/// Whether silence shows that a node is lost. One that is alone, and in the coordinator's process,
/// is not, however busy the machine is.
bool counts_silence(const CoordinatorRules& rules);

}  // namespace ddprun
