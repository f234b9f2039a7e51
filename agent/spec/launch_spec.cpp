#include "agent/spec/launch_spec.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

/// How it is decided who coordinates a job whose nodes meet so.
LeadershipRules::Kind leadership_of(const Meeting& meeting) {
  if (meeting.nodes_max == 1) return LeadershipRules::Kind::kAlone;
  if (meeting.etcd) return LeadershipRules::Kind::kEtcd;
  return LeadershipRules::Kind::kElected;
}

/// Whether the coordinator may be a `ddprun server`, which asks agents whether they are alive.
bool may_meet_server(const Meeting& meeting) {
  return meeting.hosting == Hosting::kAtEndpoint ||
         (meeting.hosting == Hosting::kElsewhere && meeting.node_rank < 0);
}

}  // namespace

bool wants_log_files(const LogSpec& logs) {
  const auto any = [](const Streams& streams) { return streams.out || streams.err; };
  return std::ranges::any_of(logs.redirects, any) || std::ranges::any_of(logs.tee, any);
}

bool uses_log_folder(const LogSpec& logs) {
  return !logs.no_files && (!logs.directory.empty() || wants_log_files(logs));
}

CoordinatorRules coordinator_rules(const LaunchSpec& spec, const std::string& run_id) {
  std::vector<std::string> places;
  for (const Endpoint& place : spec.meeting.places) places.push_back(text_of(place));
  return {.run_id = run_id,
          .nodes_min = spec.meeting.nodes_min,
          .nodes_max = spec.meeting.nodes_max,
          .restarts_max = spec.rules.restarts_max,
          .restarts = spec.rules.restarts,
          .last_call_timeout = spec.rules.last_call_timeout,
          .join_timeout = spec.rules.join_timeout,
          .heartbeat_timeout = spec.rules.heartbeat_timeout,
          .shutdown_timeout = spec.shutdown_timeout,
          .master_addr = spec.meeting.coordinator.host,
          .store = spec.rules.store,
          .hang_timeout = spec.rules.hang_timeout,
          .on_hang = spec.rules.on_hang,
          .node_policy = spec.rules.node_policy,
          .leadership = leadership_of(spec.meeting),
          .endpoint = text_of(spec.meeting.coordinator),
          .places = std::move(places)};
}

Standby standby_of(const LaunchSpec& spec) {
  return standby_of(leadership_of(spec.meeting), may_meet_server(spec.meeting));
}

JobTerms terms_of(const LaunchSpec& spec) {
  return terms_of(coordinator_rules(spec, spec.meeting.run_id));
}

}  // namespace ddprun
