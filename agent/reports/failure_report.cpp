#include "agent/reports/failure_report.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>
#include <sstream>
#include <utility>

#include "base/number_list.hpp"
#include "base/printable.hpp"
#include "base/rank_list.hpp"
#include "rendezvous/verdict/sentences.hpp"

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

Cause printable(Cause cause) {
  for (std::string* text : {&cause.sentence, &cause.hint, &cause.fault.type, &cause.fault.file,
                            &cause.fault.function, &cause.ranks, &cause.node})
    *text = plain_line(*text);
  cause.fault.message = plain_text(cause.fault.message);
  return cause;
}

Verdict printable(Verdict verdict) {
  verdict.cause = printable(std::move(verdict.cause));
  for (Cause& also : verdict.also) also = printable(std::move(also));
  for (Followers& each : verdict.followers) {
    each.ranks = plain_line(each.ranks);
    each.what = plain_line(each.what);
  }
  verdict.history = plain_line(verdict.history);
  return verdict;
}

FailedJob printable(FailedJob job) {
  job.title = plain_line(job.title);
  job.first = printable(std::move(job.first));
  for (WorkerFailure& other : job.others) other = printable(std::move(other));
  if (job.verdict) job.verdict = printable(std::move(*job.verdict));
  return job;
}

using Lines = std::vector<std::string>;

constexpr std::size_t kRecordLinesMax = 5;
constexpr std::size_t kLastLinesMin = 5;
constexpr std::size_t kFollowersShown = 6;

/// A cause that is no worker's has no worker to begin with.
bool is_of_worker(const FailedJob& job) {
  if (!job.verdict) return true;
  const FailureKind kind = job.verdict->cause.kind;
  return kind != FailureKind::kNodeLost && kind != FailureKind::kHang &&
         !(kind == FailureKind::kExitCode && job.verdict->cause.status.ok());
}

std::string headline(const FailedJob& job) {
  if (is_of_worker(job)) return "the job failed: " + summarize(job.first);
  const Cause& cause = job.verdict->cause;
  const bool hung = cause.kind == FailureKind::kHang;
  return (hung ? "the job was stopped because its workers hang: " : "the job failed: ") +
         cause.sentence;
}

/// "KeyError at train.py:88 in load_batch: 'x'".
std::string fault_line(const Fault& fault) {
  const std::string place = place_text(fault);
  const bool named = !fault.function.empty() && fault.function != "<module>";
  const std::string message = fault.message.substr(0, fault.message.find('\n'));
  return fault.type + (place.empty() ? "" : " at " + place) +
         (named ? " in " + fault.function : "") + (message.empty() ? "" : ": " + message);
}

/// "[0,2] connection reset 12 ms after", "[3-63] were stopped by ddprun".
std::string follower_line(const Followers& followers) {
  const std::string who = "[" + followers.ranks + "] ";
  if (followers.stopped_by_us)
    return who + (are_many(followers.ranks) ? "were " : "was ") + followers.what;
  const std::int64_t ms = (followers.after_us + 500) / 1000;
  return who + followers.what + (ms == 0 ? " at once" : fmt::format(" {} ms after", ms));
}

/// What is known of the cause, besides who it was.
Lines cause_lines(const FailedJob& job) {
  Lines lines;
  if (job.verdict && is_of_worker(job)) {
    const Cause& cause = job.verdict->cause;
    if (!cause.fault.type.empty()) lines.push_back(fault_line(cause.fault));
    if (are_many(cause.ranks)) lines.push_back(ranks_text(cause.ranks) + " failed in the same way");
  }
  if (!job.first.evidence.empty() && is_of_worker(job)) lines.push_back(job.first.evidence);
  if (job.verdict && !job.verdict->cause.hint.empty())
    lines.push_back("hint: " + job.verdict->cause.hint);
  if (!job.first.last_heartbeat.empty())
    lines.push_back("last heartbeat: " + job.first.last_heartbeat);
  if (job.attempts > 1)
    lines.push_back("in attempt " + std::to_string(job.attempts) + ", the last one allowed");
  if (job.verdict && !job.verdict->history.empty()) lines.push_back(job.verdict->history);
  return lines;
}

/// Tells who failed besides, and who only followed.
Lines other_lines(const FailedJob& job) {
  Lines lines;
  if (!job.verdict) {
    for (const WorkerFailure& other : job.others) lines.push_back("meanwhile " + summarize(other));
    std::vector<int> stopped = job.stopped;
    std::ranges::sort(stopped);
    if (!stopped.empty())
      lines.push_back("[" + format_number_list(stopped) + "] " +
                      (stopped.size() == 1 ? "was" : "were") + " stopped by ddprun");
    return lines;
  }
  for (const Cause& also : job.verdict->also) lines.push_back("also: " + also.sentence);
  for (const Followers& followers : job.verdict->followers) {
    if (lines.size() >= job.verdict->also.size() + kFollowersShown) break;
    lines.push_back(follower_line(followers));
  }
  return lines;
}

Lines first_of(Lines lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  const std::size_t left = lines.size() - most + 1;
  lines.resize(most - 1);
  lines.push_back(fmt::format("[ddprun: {} lines more]", left));
  return lines;
}

Lines last_of(const Lines& lines, std::size_t most) {
  const std::size_t from = lines.size() - std::min(lines.size(), most);
  return {lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end()};
}

std::string indented(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

/// All between the first line and torchrun's block. The worker's last lines get what is left of the
/// space.
std::string explanation(const FailedJob& job) {
  const Lines cause = cause_lines(job);
  const Lines record = first_of(split(job.first.message), kRecordLinesMax);
  const Lines others = other_lines(job);
  const std::size_t used =
      1 + cause.size() + (record.empty() ? 0 : 1 + record.size()) + 1 + others.size();
  const std::size_t left = kReportLinesMax - std::min(used, kReportLinesMax);
  std::string out = indented(cause);
  if (!record.empty()) out += "  it recorded:\n" + quote(record);
  if (!is_of_worker(job)) return out + indented(others);
  if (job.first.last_lines.empty())
    out += "  it wrote nothing to its output\n";
  else
    out +=
        "  its last lines:\n" + quote(last_of(job.first.last_lines, std::max(left, kLastLinesMin)));
  return out + indented(others);
}

}  // namespace

std::string summarize(const WorkerFailure& failure) {
  return "rank " + std::to_string(failure.rank) + " (local rank " +
         std::to_string(failure.local_rank) + " on host " + failure.host + ", pid " +
         std::to_string(failure.pid) + ") " + describe(failure.status);
}

std::string failure_report(const FailedJob& failed) {
  const FailedJob job = printable(failed);
  const std::string ours = "ddprun: " + headline(job) + "\n" + explanation(job);
  return job.first.host.empty() ? ours : ours + block(job);
}

}  // namespace ddprun
