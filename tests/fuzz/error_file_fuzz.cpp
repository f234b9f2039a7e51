// Fuzzes the texts of a failure: whatever a worker leaves in its error file and in its output, the
// failure fits into one message, and its report gives the terminal no orders.
#include <algorithm>
#include <string>

#include "agent/failure_report.hpp"
#include "agent/failure_texts.hpp"
#include "agent/recorded_error.hpp"
#include "rendezvous/wire/messages.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace ddprun;

bool is_plain(const std::string& text) {
  return std::ranges::none_of(
      text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

void check(WorkerFailure failure) {
  const std::string raw = failure_report({failure.host, failure, 2, {failure}, {}});
  require(is_plain(raw));
  shorten_texts(failure);
  require(failure.message.size() <= kFailureTextBytesMax);
  require(failure.traceback.size() <= kFailureTextBytesMax);
  require(failure.host.size() <= kFailureWordBytesMax);
  std::size_t last = 0;
  for (const std::string& line : failure.last_lines) last += line.size();
  require(last <= kFailureTextBytesMax);
  require(encode(AgentMessage{WorkerFailed{1, failure}}).size() < kLineBytesMax);
  WorkerFailure again = failure;
  shorten_texts(again);
  require(again == failure);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  // Long texts are what the limits are for, and a fuzzer makes short ones.
  std::string longer;
  while (!text.empty() && longer.size() < 2 * kFailureTextBytesMax) longer += text;
  check({.host = text,
         .evidence = text,
         .message = text,
         .traceback = longer,
         .last_heartbeat = text,
         .last_lines = {text, longer, text}});
  if (auto recorded = parse_recorded_error(text))
    check({.message = std::move(recorded->message), .traceback = std::move(recorded->traceback)});
  return 0;
}
