#include "agent/failure_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>
#include <sstream>
#include <utility>

#include "base/number_list.hpp"
#include "base/printable.hpp"

namespace ddprun {

namespace {

constexpr std::size_t kBlockWidthMax = 60;  // torchrun's

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string quote(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "    | " + line + "\n";
  return out;
}

std::string local_time(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}_{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// What torchrun says of the reason: the recorded traceback, the signal, or how to record one.
std::string reason(const WorkerFailure& failure) {
  if (!failure.traceback.empty() || !failure.message.empty()) {
    std::string text;
    for (const std::string& line :
         split(failure.traceback.empty() ? failure.message : failure.traceback))
      text += (text.empty() ? "" : "\n  ") + line;
    return text;
  }
  if (failure.status.signal != 0)
    return fmt::format("Signal {} ({}) received by PID {}", failure.status.signal,
                       signal_name(failure.status.signal), failure.pid);
  return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
}

/// What torchrun shows since 2.15, which has two blanks before the name.
std::string exit_code(const WorkerFailure& failure) {
  const int signal = failure.status.signal;
  if (signal == 0) return fmt::format("{} (pid: {})", failure.status.code, failure.pid);
  return fmt::format("{} (pid: {}) ({})", -signal, failure.pid, signal_name(signal));
}

std::string block_entry(int index, const WorkerFailure& failure) {
  return fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  exitcode  : {}\n"
      "  error_file: {}\n"
      "  traceback : {}\n",
      index, local_time(failure.time_unix_ms), failure.host, failure.rank, failure.local_rank,
      exit_code(failure), failure.error_file.empty() ? "<N/A>" : failure.error_file,
      reason(failure));
}

std::string block(const FailedJob& job) {
  const std::string root = block_entry(0, job.first);
  std::string others;
  for (std::size_t i = 0; i < job.others.size(); ++i)
    others += block_entry(static_cast<int>(i) + 1, job.others[i]);
  if (others.empty()) others = "  <NO_OTHER_FAILURES>\n";
  std::size_t width = job.title.size() + std::string_view{" FAILED"}.size();
  for (const std::string& line : split(root + others)) width = std::max(width, line.size());
  width = std::min(width, kBlockWidthMax);
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "{0}\n{1} FAILED\n{2}\nFailures:\n{3}{2}\nRoot Cause (first observed failure):\n{4}{0}\n",
      border, job.title, section, others, root);
}

/// These texts come from workers and from other nodes.
WorkerFailure printable(WorkerFailure failure) {
  for (std::string* text :
       {&failure.host, &failure.evidence, &failure.error_file, &failure.last_heartbeat})
    *text = plain_line(*text);
  for (std::string* text : {&failure.message, &failure.traceback}) *text = plain_text(*text);
  for (std::string& line : failure.last_lines) line = plain_line(line);
  return failure;
}

FailedJob printable(FailedJob job) {
  job.title = plain_line(job.title);
  job.first = printable(std::move(job.first));
  for (WorkerFailure& other : job.others) other = printable(std::move(other));
  return job;
}

}  // namespace

std::string summarize(const WorkerFailure& failure) {
  return "rank " + std::to_string(failure.rank) + " (local rank " +
         std::to_string(failure.local_rank) + " on host " + failure.host + ", pid " +
         std::to_string(failure.pid) + ") " + describe(failure.status);
}

std::string failure_report(const FailedJob& failed) {
  const FailedJob job = printable(failed);
  const WorkerFailure& first = job.first;
  std::string out = "ddprun: the job failed: " + summarize(first) + "\n";
  if (!first.evidence.empty()) out += "  " + first.evidence + "\n";
  if (!first.last_heartbeat.empty()) out += "  last heartbeat: " + first.last_heartbeat + "\n";
  if (job.attempts > 1)
    out += "  in attempt " + std::to_string(job.attempts) + ", the last one allowed\n";
  if (!first.message.empty()) out += "  it recorded:\n" + quote(split(first.message));
  if (first.last_lines.empty())
    out += "  it wrote nothing to its output\n";
  else
    out += "  its last lines:\n" + quote(first.last_lines);
  for (const WorkerFailure& other : job.others) out += "  meanwhile " + summarize(other) + "\n";
  std::vector<int> stopped = job.stopped;
  std::ranges::sort(stopped);
  if (!stopped.empty())
    out += fmt::format("  stopped by ddprun because of it: rank{} {}\n",
                       stopped.size() == 1 ? "" : "s", format_number_list(stopped));
  return out + block(job);
}

}  // namespace ddprun
