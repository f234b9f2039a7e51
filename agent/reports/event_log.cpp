#include "agent/reports/event_log.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "agent/spec/template_text.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// Nothing has begun yet, so a folder that hangs is waited for as long as a person wants: a signal
/// ends that.
Result<void> EventLog::open(const asio::any_io_executor& executor, const LaunchSpec& spec,
                            const RunFacts& run) {
  // Nodes may share a file system, and each needs a file of its own there.
  const std::string path =
      substitute(spec.event_log, std::array{TemplateValue{"hostname", run.host}});
  const auto writer = LogWriter::make(executor);
  auto file = writer->open_at_start(path);
  if (!file) return file.error();
  writer_ = writer;
  file_ = std::move(*file);
  events_ = JobEvents{run.host};
  writer_->write(file_, events_.begins(spec, run, getpid(), unix_time_us()));
  return {};
}

void EventLog::note(const AgentEvent& event) {
  if (writer_) writer_->write(file_, events_.of(event, unix_time_us()));
}

void EventLog::note(const AgentAction& action) {
  if (writer_) writer_->write(file_, events_.of(action, unix_time_us()));
}

void EventLog::note(const CheckpointNews& news) {
  if (writer_) writer_->write(file_, events_.of(news, unix_time_us()));
}

void EventLog::note_started(const std::vector<RunningWorker>& workers) {
  if (writer_) writer_->write(file_, events_.started(workers, unix_time_us()));
}

}  // namespace ddprun
