#include "agent/reports/event_log.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "agent/spec/template_text.hpp"

namespace ddprun {

namespace {

std::int64_t unix_time_us() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace

Result<EventLog> EventLog::open(const LaunchSpec& spec, const RunFacts& run) {
  // Nodes may share a file system, and each needs a file of its own there.
  auto file =
      LogFile::open(substitute(spec.event_log, std::array{TemplateValue{"hostname", run.host}}));
  if (!file) return file.error();
  EventLog log{std::move(*file), run};
  log.file_.write(log.events_.begins(spec, run, getpid(), unix_time_us()));
  return log;
}

void EventLog::note(const AgentEvent& event) { file_.write(events_.of(event, unix_time_us())); }

void EventLog::note(const AgentAction& action) { file_.write(events_.of(action, unix_time_us())); }

void EventLog::note_started(const std::vector<RunningWorker>& workers) {
  file_.write(events_.started(workers, unix_time_us()));
}

}  // namespace ddprun
