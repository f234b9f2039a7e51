#include "launcher/commands/file_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/output/console.hpp"
#include "agent/reports/report_text.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/silence_note.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "launcher/commands/timeline.hpp"
#include "launcher/live/job_texts.hpp"
#include "launcher/options/command_options.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;
using sdk::CheckpointEntry;
using sdk::CheckpointState;

/// Returns a size as "1.2 GB".
std::string size(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 999.5 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  const int decimals = unit == 0 || amount >= 99.5 ? 0 : 1;
  return fmt::format("{:.{}f} {}", amount, decimals, kUnits[unit]);
}

/// The reason may quote what is in the checkpoint, which may come from anywhere.
std::string state(const CheckpointEntry& entry) {
  std::string text = sdk::to_string(entry.state);
  if (!entry.reason.empty()) text += ": " + plain_line(entry.reason);
  return text;
}

std::vector<Cell> row(const CheckpointEntry& entry, std::int64_t now_unix_ms) {
  const std::string step = std::to_string(entry.step);
  if (!entry.manifest) return {{step}, {"-"}, {"-"}, {"-"}, {"-"}, {state(entry)}};
  const sdk::CheckpointManifest& manifest = *entry.manifest;
  const std::int64_t age_ms = now_unix_ms - manifest.created_unix_ms;
  return {{step},
          {std::to_string(manifest.epoch)},
          {std::to_string(manifest.world_size)},
          {duration_text(std::max<std::int64_t>(age_ms, 0) / 1000)},
          {size(manifest.bytes())},
          {state(entry)}};
}

/// Returns the checkpoints of a folder, or the one that the path itself is.
std::vector<CheckpointEntry> find_checkpoints(const fs::path& path) {
  const fs::path folder = path.filename().empty() ? path.parent_path() : path;
  if (sdk::parse_checkpoint_name(folder.filename().string()))
    return {sdk::inspect_checkpoint(folder)};
  return sdk::list_checkpoints(folder);
}

int list(const fs::path& path, Console& out) {
  std::vector<CheckpointEntry> entries = find_checkpoints(path);
  for (CheckpointEntry& entry : sdk::list_unfinished(path)) entries.push_back(std::move(entry));
  out.write(entries.empty() ? fmt::format("there is no checkpoint in '{}'\n", path.string())
                            : checkpoint_table(entries, unix_time_ms()));
  return 0;
}

int verify(const fs::path& path, Console& out) {
  const auto entries = find_checkpoints(path);
  std::size_t complete = 0;
  for (const CheckpointEntry& found : entries) {
    const CheckpointEntry entry = sdk::verify_checkpoint(found.path);
    if (entry.state == CheckpointState::kComplete) ++complete;
    out.write(fmt::format("{}: {}\n", plain_line(entry.path.string()), state(entry)));
  }
  if (entries.empty())
    log::error("there is no checkpoint in '{}'", path.string());
  else if (complete < entries.size())
    log::error("{} of {} checkpoints in '{}' cannot be used", entries.size() - complete,
               entries.size(), path.string());
  else
    out.write(fmt::format("all files of {} have their SHA-256\n", counted(complete, "checkpoint")));
  return complete == entries.size() && complete > 0 ? 0 : 1;
}

}  // namespace

std::string checkpoint_table(const std::vector<CheckpointEntry>& entries,
                             std::int64_t now_unix_ms) {
  TextTable table{">>>>><", {"STEP", "EPOCH", "WORLD SIZE", "AGE", "SIZE", "STATE"}};
  for (const CheckpointEntry& entry : entries) table.add(row(entry, now_unix_ms));
  return table.text();
}

Result<int> run_checkpoint(const std::vector<std::string>& words, const CommandContext& context) {
  std::string folder;
  CommandOptions command{"Looks at checkpoints that the worker SDK has written.",
                         "ddprun checkpoint"};
  CommandOptions ls = command.subcommand("ls", "lists them: step, epoch, world size, state");
  CommandOptions check = command.subcommand("verify", "reads all of them, compares the checksums");
  for (CommandOptions* const each : {&ls, &check})
    each->argument("DIR", folder, "a folder of checkpoints, or one of them", {.required = true});
  command.examples(
      "ddprun checkpoint ls checkpoints\n"
      "ddprun checkpoint verify checkpoints/checkpoint-000000000042");
  if (const auto done = command.parse(words, context.out)) return *done;
  const SilenceNote note{folder};
  try {
    return check.is_chosen() ? verify(folder, context.out) : list(folder, context.out);
  } catch (const fs::filesystem_error& e) {
    log::error("cannot read '{}': {}", folder, e.code().message());
    return 1;
  }
}

namespace {

/// A report has some 100 KiB at most.
constexpr std::size_t kReportBytesMax = 4 * 1024 * 1024;

int explain(const std::string& path, Console& out) {
  const SilenceNote note{path};
  const auto text = read_text(path, kReportBytesMax, ReadFrom::kPipesToo);
  if (!text) {
    log::error("cannot read '{}': {}", path, text.error().message);
    return 1;
  }
  const auto report = parse_report(*text);
  if (!report) {
    log::error("'{}' is no report of a job ({}): is it a file of --report-file?", path,
               report.error().message);
    return 1;
  }
  out.write(explain_text(*report));
  return 0;
}

}  // namespace

Result<int> run_explain(const std::vector<std::string>& words, const CommandContext& context) {
  std::string file;
  CommandOptions command{
      "Prints what a report says: why a job failed or hangs, and what to do about it. "
      "--report-file writes the report; with --log-dir, each run's folder has one, too.",
      "ddprun explain"};
  command.argument("FILE", file, "what --report-file has written", {.required = true});
  command.examples("ddprun explain report.json");
  if (const auto done = command.parse(words, context.out)) return *done;
  return explain(file, context.out);
}

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

Result<int> run_trace(const std::vector<std::string>& words, const CommandContext& context) {
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
  if (const auto done = command.parse(words, context.out)) return *done;
  return trace(logs, path, context.out);
}

}  // namespace ddprun
