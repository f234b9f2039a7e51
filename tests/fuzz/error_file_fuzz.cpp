// Fuzzes the texts of a failure: whatever a worker leaves in its error file and in its output, the
// failure fits into one message, its report gives the terminal no orders, and its end is judged.
#include <algorithm>
#include <string>

#include "agent/reports/failure_texts.hpp"
#include "agent/reports/report_text.hpp"
#include "agent/workers/round_folder.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/verdict/judge_end.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

/// A limit that a fuzzer meets.
constexpr std::size_t kMost = 160;

bool is_plain(const std::string& text) {
  return std::ranges::none_of(
      text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

void check_report(const WorkerFailure& failure) {
  require(is_plain(torchrun_block({failure.host, failure, failure.message, {failure}})));
  JobReport report{.outcome = JobOutcome::kFailed, .verdict = Verdict{}, .worker = failure};
  require(is_plain(report_text(report, Output::kNotShown)));
}

void check_limits(WorkerFailure failure) {
  shorten_texts(failure, kMost);
  require(failure.message.size() <= kMost && failure.traceback.size() <= kMost);
  require(failure.host.size() <= kFailureWordBytesMax);
  std::size_t last = 0;
  for (const std::string& line : failure.last_lines) last += line.size();
  require(last <= kMost);
  // As JSON a text takes twice as much, and 2 KiB are for the names of all fields.
  require(encode(AgentMessage{WorkerFailed{1, failure}}).size() <=
          2 * (3 * kMost + 3 * kFailureWordBytesMax) + 2048);
  WorkerFailure again = failure;
  shorten_texts(again, kMost);
  require(again == failure);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  check_report({.host = text, .message = text, .last_heartbeat = text, .last_lines = {text}});
  check_limits({.host = text,
                .evidence = text,
                .message = text,
                .traceback = text,
                .last_heartbeat = text,
                .last_lines = {text, "a line", text}});
  const WorkerEnd end = judge_end({.status = {.code = 1}, .message = text, .err = {text, {}}});
  require(end.hint.find('\n') == std::string::npos);
  if (auto recorded = parse_recorded_error(text))
    check_report(
        {.message = std::move(recorded->message), .traceback = std::move(recorded->traceback)});
  return 0;
}
