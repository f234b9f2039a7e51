#include "rendezvous/rounds/coordinator_rules.hpp"

namespace ddprun {

JobTerms terms_of(const CoordinatorRules& rules) {
  return {rules.nodes_min,
          rules.nodes_max,
          rules.restarts_max,
          rules.restarts,
          rules.last_call_timeout.count(),
          rules.join_timeout.count(),
          rules.heartbeat_timeout.count(),
          rules.shutdown_timeout.count(),
          rules.store,
          rules.hang_timeout.count(),
          rules.on_hang,
          rules.node_policy};
}

LeadershipRules leadership_of(const CoordinatorRules& rules) {
  return {.kind = rules.leadership,
          .begins = rules.begins,
          .heartbeat_timeout = rules.heartbeat_timeout,
          .join_timeout = rules.join_timeout,
          .nodes_max = rules.nodes_max,
          .run_id = rules.run_id,
          .endpoint = rules.endpoint,
          .places = rules.places,
          .since = rules.server_since};
}

bool counts_silence(const CoordinatorRules& rules) {
  return rules.nodes_max > 1 || rules.leadership != LeadershipRules::Kind::kAlone;
}

}  // namespace ddprun
