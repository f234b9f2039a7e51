// EventLog: the file of --event-log, which JobEvents' lines are appended to.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/decisions/agent_events.hpp"
#include "agent/output/log_writer.hpp"
#include "agent/reports/job_events.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/result.hpp"

namespace ddprun {

class EventLog {
 public:
  /// Goes on at the end of the file. Until then nothing is written. Errors: kUnavailable, with its
  /// name.
  Result<void> open(const asio::any_io_executor& executor, const LaunchSpec& spec,
                    const RunFacts& run);

  /// Writes what happens now, if it is worth a line. If the file cannot be written, a warning says
  /// so once, and the job goes on.
  void note(const AgentEvent& event);
  void note(const AgentAction& action);
  void note(const CheckpointNews& news);
  void note_started(const std::vector<RunningWorker>& workers);

  /// Writes what still waits; see LogWriter::end().
  void end() {
    if (writer_) writer_->end();
  }

 private:
  std::shared_ptr<LogWriter> writer_;  // null: it is not open
  std::shared_ptr<LogWriter::File> file_;
  JobEvents events_{""};
};

}  // namespace ddprun
