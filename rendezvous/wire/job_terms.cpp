#include "rendezvous/wire/job_terms.hpp"

namespace ddprun {

JobTerms terms_of(const RoundRules& rules) {
  return {rules.nodes_min,
          rules.nodes_max,
          rules.restarts_max,
          rules.last_call_timeout.count(),
          rules.join_timeout.count(),
          rules.heartbeat_timeout.count(),
          rules.shutdown_timeout.count(),
          rules.store,
          rules.hang_timeout.count(),
          rules.on_hang};
}

}  // namespace ddprun
