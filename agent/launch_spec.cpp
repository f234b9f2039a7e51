#include "agent/launch_spec.hpp"

#include <utility>

namespace ddprun {

RoundRules round_rules(const LaunchSpec& spec, const std::string& run_id) {
  std::vector<std::string> places;
  for (const Endpoint& place : spec.meeting.places) places.push_back(text_of(place));
  return {.run_id = run_id,
          .nodes_min = spec.meeting.nodes_min,
          .nodes_max = spec.meeting.nodes_max,
          .restarts_max = spec.rules.restarts_max,
          .last_call_timeout = spec.rules.last_call_timeout,
          .join_timeout = spec.rules.join_timeout,
          .heartbeat_timeout = spec.rules.heartbeat_timeout,
          .shutdown_timeout = spec.shutdown_timeout,
          .master_addr = spec.meeting.coordinator.host,
          .store = spec.rules.store,
          .hang_timeout = spec.rules.hang_timeout,
          .on_hang = spec.rules.on_hang,
          .has_successors = has_successors(spec),
          .has_referee = spec.meeting.etcd.has_value(),
          .endpoint = text_of(spec.meeting.coordinator),
          .places = std::move(places)};
}

bool has_successors(const LaunchSpec& spec) {
  const Meeting& meeting = spec.meeting;
  const bool decided_by_others = meeting.etcd.has_value() || !meeting.places.empty();
  return has_successors(meeting.nodes_max) || (decided_by_others && meeting.nodes_max > 1);
}

bool may_meet_server(const LaunchSpec& spec) {
  const Meeting& meeting = spec.meeting;
  return meeting.hosting == Hosting::kAtEndpoint ||
         (meeting.hosting == Hosting::kElsewhere && meeting.node_rank < 0);
}

JobTerms terms_of(const LaunchSpec& spec) {
  return terms_of(round_rules(spec, spec.meeting.run_id));
}

}  // namespace ddprun
