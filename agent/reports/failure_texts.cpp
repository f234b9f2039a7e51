#include "agent/reports/failure_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace ddprun {

namespace {

/// A text may have a megabyte: only as much is made printable as can stay.
std::string plain(std::string_view text, const TextLimit& limit) {
  return cut(plain_text(cut(text, limit)), limit);
}

/// Drops the oldest of the lines.
void keep_last(std::vector<std::string>& lines, std::size_t most) {
  std::size_t bytes = 0;
  auto first = lines.end();
  for (; first != lines.begin(); --first) {
    std::string& line = *(first - 1);
    line = cut(plain_line(cut(line, {most})), {most});
    bytes += line.size();
    if (bytes > most) break;
  }
  lines.erase(lines.begin(), first);
}

}  // namespace

void shorten_texts(WorkerFailure& failure, std::size_t most) {
  for (std::string* word : {&failure.host, &failure.evidence, &failure.last_heartbeat})
    *word = cut(plain_line(cut(*word, {kFailureWordBytesMax})), {kFailureWordBytesMax});
  failure.message = plain(failure.message, {most});
  failure.traceback = plain(failure.traceback, {most, TextLimit::Keep::kEnd});
  keep_last(failure.last_lines, most);
  if (failure.error_file.size() >= PATH_MAX) failure.error_file.clear();
  if (failure.log_file.size() > kFailureWordBytesMax) failure.log_file.clear();
}

namespace {

constexpr std::size_t kBlockWidthMax = 60;  // torchrun's
constexpr char kUnknown[] = "<N/A>";        // its word, too

std::string local_time(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}_{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// What torchrun says of a signal. Programs look for these words, so they come first.
std::string signal_words(const WorkerFailure& failure) {
  if (failure.status.signal == 0 || failure.pid == kUnknownPid) return "";
  return fmt::format("Signal {} ({}) received by PID {}", failure.status.signal,
                     signal_name(failure.status.signal), failure.pid);
}

/// What torchrun says of the reason: the recorded traceback, the signal, or how to record one. In
/// place of the last stands what is known without a record, and behind the signal, too.
std::string reason(const WorkerFailure& failure, const std::string& fault) {
  if (!failure.traceback.empty() || !failure.message.empty()) {
    std::string text;
    for (const std::string& line :
         split_lines(plain_text(failure.traceback.empty() ? failure.message : failure.traceback)))
      text += (text.empty() ? "" : "\n  ") + line;
    return text;
  }
  std::string signal = signal_words(failure);
  if (!fault.empty()) return signal + (signal.empty() ? "" : ": ") + plain_line(fault);
  if (!signal.empty()) return signal;
  return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
}

/// What torchrun shows since 2.15, which has two blanks before the name.
std::string exit_code(const WorkerFailure& failure) {
  if (failure.pid == kUnknownPid) return kUnknown;
  const int signal = failure.status.signal;
  if (signal == 0) return fmt::format("{} (pid: {})", failure.status.code, failure.pid);
  return fmt::format("{} (pid: {}) ({})", -signal, failure.pid, signal_name(signal));
}

std::string entry(std::size_t index, const WorkerFailure& failure, const std::string& fault) {
  return fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  exitcode  : {}\n"
      "  error_file: {}\n"
      "  traceback : {}\n",
      index, local_time(failure.time_unix_ms), plain_line(failure.host), failure.rank,
      failure.pid == kUnknownPid ? kUnknown : std::to_string(failure.local_rank),
      exit_code(failure), failure.error_file.empty() ? kUnknown : plain_line(failure.error_file),
      reason(failure, fault));
}

}  // namespace

std::string torchrun_block(const TorchrunFailures& failures) {
  const std::string title = plain_line(failures.title);
  const std::string root = entry(0, failures.root, failures.fault);
  std::string others;
  for (std::size_t i = 0; i < failures.others.size(); ++i)
    others += entry(i + 1, failures.others[i], "");
  if (others.empty()) others = "  <NO_OTHER_FAILURES>\n";
  std::size_t width = title.size() + std::string_view{" FAILED"}.size();
  for (const std::string& line : split_lines(root + others)) width = std::max(width, line.size());
  width = std::min(width, kBlockWidthMax);
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "{0}\n{1} FAILED\n{2}\nFailures:\n{3}{2}\nRoot Cause (first observed failure):\n{4}{0}\n",
      border, title, section, others, root);
}

}  // namespace ddprun
