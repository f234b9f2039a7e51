#include "rendezvous/rounds/coordinator_rules.hpp"

namespace ddprun {

LeadershipRules leadership_of(const CoordinatorRules& rules) {
  return {.kind = rules.leadership,
          .begins = rules.begins,
          .heartbeat_timeout = rules.terms.heartbeat_timeout,
          .join_timeout = rules.terms.join_timeout,
          .nodes_max = rules.terms.nodes_max,
          .run_id = rules.run_id,
          .endpoint = rules.endpoint,
          .places = rules.places,
          .since = rules.server_since};
}

bool counts_silence(const CoordinatorRules& rules) {
  return rules.terms.nodes_max > 1 || rules.leadership != LeadershipRules::Kind::kAlone;
}

}  // namespace ddprun
