// EventLog: the file of --event-log, which JobEvents' lines are appended to.
#pragma once

#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "agent/output/log_file.hpp"
#include "agent/reports/job_events.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/result.hpp"

namespace ddprun {

class EventLog {
 public:
  /// Goes on at the end of the file. Errors: kUnavailable, with its name.
  static Result<EventLog> open(const LaunchSpec& spec, const RunFacts& run);

  /// Writes what happens now, if it is worth a line. When the file cannot be written, that is told
  /// once, and the job goes on.
  void note(const AgentEvent& event);
  void note(const AgentAction& action);
  void note_started(const std::vector<RunningWorker>& workers);

 private:
  EventLog(LogFile file, const RunFacts& run) : file_{std::move(file)}, events_{run.host} {}

  LogFile file_;
  JobEvents events_;
};

}  // namespace ddprun
