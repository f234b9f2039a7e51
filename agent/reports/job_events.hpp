// JobEvents writes what happens on this node as lines of JSON, for programs: the lines of
// --event-log. docs/events.md has the schema. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/decisions/agent_events.hpp"
#include "agent/spec/launch_spec.hpp"

namespace ddprun {

/// The schema's name and version. Later versions may have more kinds of events, and more fields.
inline constexpr char kEventSchema[] = "ddprun.events/1";

/// A worker that runs.
struct RunningWorker {
  int rank = 0;
  int local_rank = 0;
  std::int64_t pid = 0;
};

class JobEvents {
 public:
  /// `node`: the name of this machine, which every line has.
  explicit JobEvents(std::string node) : node_{std::move(node)} {}

  // Each of these returns lines with their ends, or "" where there is nothing to write. The times
  // are microseconds since 1970 (UTC).

  /// The agent of this job begins.
  std::string begins(const LaunchSpec& spec, const RunFacts& run, std::int64_t pid,
                     std::int64_t time_unix_us) const;
  /// The line of an event that AgentMachine got.
  std::string of(const AgentEvent& event, std::int64_t time_unix_us);
  /// What AgentMachine decided.
  std::string of(const AgentAction& action, std::int64_t time_unix_us);
  /// What has become of a checkpoint.
  std::string of(const CheckpointNews& news, std::int64_t time_unix_us) const;
  /// The workers of the round have been started: these.
  std::string started(const std::vector<RunningWorker>& workers, std::int64_t time_unix_us) const;

 private:
  std::string node_;
  int round_ = 0;
};

}  // namespace ddprun
