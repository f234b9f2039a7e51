#include "launcher/commands/trace_command.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "agent/output/console.hpp"
#include "base/log.hpp"
#include "base/system/silence_note.hpp"
#include "launcher/commands/timeline.hpp"
#include "launcher/options/command_options.hpp"

namespace ddprun {

namespace {

/// Adds the events of a file. Returns false, and says why, when there are none.
bool read_events(const std::string& path, Timeline& timeline) {
  const SilenceNote note{path};
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    log::error("cannot read '{}': {}", path, std::strerror(errno));
    return false;
  }
  std::size_t events = 0, others = 0;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) ++(timeline.add(line) ? events : others);
  if (events == 0) {
    log::error("'{}' has no events: is it a file of --event-log?", path);
    return false;
  }
  if (others > 0) log::warn("{} lines of '{}' are no events", others, path);
  return true;
}

/// "": to standard output.
bool write_trace(const std::string& trace, const std::string& path, Console& out) {
  if (path.empty()) {
    out.write(trace);
    return true;
  }
  const SilenceNote note{path};
  std::ofstream file{path, std::ios::binary};
  file << trace;
  file.close();
  if (!file) log::error("cannot write '{}': {}", path, std::strerror(errno));
  return !file.fail();
}

int trace(const std::vector<std::string>& logs, const std::string& path, Console& out) {
  Timeline timeline;
  for (const std::string& log : logs)
    if (!read_events(log, timeline)) return 1;
  return write_trace(timeline.trace(), path, out) ? 0 : 1;
}

}  // namespace

Result<int> run_trace(const std::vector<std::string>& words, const Stage& stage) {
  std::vector<std::string> logs;
  std::string path;
  CommandOptions command{
      "Makes a trace of a job's event logs, which https://ui.perfetto.dev draws: a line for each "
      "rank, with its rounds, restarts and failures. Logs of several nodes are put together by "
      "their clocks.",
      "ddprun trace"};
  command.argument("FILE", logs, "what --event-log has written, one or more", {.required = true});
  command.option("-o,--output", path, "FILE", "write the trace there, and not to standard output");
  command.examples("ddprun trace events-*.jsonl -o trace.json");
  if (const auto done = command.parse(words, stage.out)) return *done;
  return trace(logs, path, stage.out);
}

}  // namespace ddprun
