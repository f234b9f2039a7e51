#include "agent/spec/launch_spec.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

namespace {

/// How it is decided who coordinates the job.
LeadershipKind leadership_of(const LaunchSpec& spec) {
  if (spec.terms.has_one_node()) return LeadershipKind::kAlone;
  if (spec.meeting.etcd) return LeadershipKind::kEtcd;
  return LeadershipKind::kElected;
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
          .terms = spec.terms,
          .master_addr = spec.meeting.coordinator.host,
          .leadership = leadership_of(spec),
          .endpoint = text_of(spec.meeting.coordinator),
          .places = std::move(places)};
}

Standby standby_of(const LaunchSpec& spec) {
  return standby_of(leadership_of(spec), may_meet_server(spec.meeting));
}

}  // namespace ddprun
