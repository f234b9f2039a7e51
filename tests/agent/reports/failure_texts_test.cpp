#include "agent/reports/failure_texts.hpp"

#include <algorithm>
#include <cstdlib>

#include "rendezvous/messages/messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

WorkerFailure shortened(WorkerFailure failure) {
  shorten_texts(failure);
  return failure;
}

std::string many(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("short texts of a failure stay as they are") {
  const WorkerFailure failure{.host = "größer",
                              .rank = 3,
                              .evidence = "out of memory",
                              .message = "ValueError: no\n\tbatch",
                              .traceback = std::string(kFailureTextBytesMax, 'x'),
                              .error_file = "/logs/error.json",
                              .last_heartbeat = "step 1",
                              .last_lines = {"one", "", "two"}};
  CHECK(shortened(failure) == failure);
}

TEST_CASE("of a long message the beginning stays, of a long traceback the end") {
  const WorkerFailure failure =
      shortened({.message = "begin" + std::string(300'000, '.') + "end",
                 .traceback = "begin" + std::string(300'000, '.') + "end"});
  CHECK(failure.message.size() <= kFailureTextBytesMax);
  CHECK(failure.message.size() > kFailureTextBytesMax - 100);
  CHECK_THAT(failure.message, Catch::Matchers::StartsWith("begin"));
  CHECK_THAT(failure.message, Catch::Matchers::EndsWith("...…"));
  CHECK(failure.traceback.size() <= kFailureTextBytesMax);
  CHECK(failure.traceback.size() > kFailureTextBytesMax - 100);
  CHECK_THAT(failure.traceback, Catch::Matchers::StartsWith("…..."));
  CHECK_THAT(failure.traceback, Catch::Matchers::EndsWith("end"));
}

TEST_CASE("no character is cut in two") {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string text = std::string(shift, 'x') + many("🙂", 10'000);
    const WorkerFailure failure =
        shortened({.host = text, .message = text, .traceback = text, .last_lines = {text, text}});
    for (const std::string& cut :
         {failure.host, failure.message, failure.traceback, failure.last_lines.back()})
      CHECK(cut.find("\\x") == std::string::npos);
    CHECK_NOTHROW(encode(AgentMessage{WorkerFailed{1, failure}}));
  }
}

TEST_CASE("of many long lines the last stay") {
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i) lines.push_back(std::to_string(i) + std::string(1000, '.'));
  const auto kept = shortened({.last_lines = lines}).last_lines;
  CHECK(kept == std::vector<std::string>(lines.begin() + 4, lines.end()));
  const auto one = shortened({.last_lines = {std::string(100'000, '.')}}).last_lines;
  REQUIRE(one.size() == 1);
  CHECK(one.front().size() <= kFailureTextBytesMax);
}

TEST_CASE("whatever a worker has written, its failure fits into one message") {
  for (const std::string& filling :
       {std::string(1, '\0'), std::string{"\x1b"}, std::string{"\""}, std::string{"\\"},
        std::string{"\n"}, std::string{"\x80"}, std::string{"\xff\xfe"}, std::string{"漢"}}) {
    const std::string text = many(filling, 1'000'000);
    const WorkerFailure failure =
        shortened({.host = text,
                   .evidence = text,
                   .message = text,
                   .traceback = text,
                   .error_file = std::string(4095, '\x1b'),
                   .last_heartbeat = text,
                   .last_lines = std::vector<std::string>(20, text.substr(0, 1000))});
    CHECK(encode(AgentMessage{WorkerFailed{1, failure}}).size() < kLineBytesMax);
    CHECK_FALSE(failure.error_file.empty());
  }
}

TEST_CASE("the name of an error file is exact, or there is none") {
  CHECK(shortened({.error_file = "/logs/\x1b/error.json"}).error_file == "/logs/\x1b/error.json");
  CHECK(shortened({.error_file = std::string(5000, 'x')}).error_file.empty());
}

TEST_CASE("the block names the root cause and the other failures as torchrun does") {
  setenv("TZ", "UTC", 1);
  const WorkerFailure first{.host = "h1",
                            .rank = 5,
                            .local_rank = 1,
                            .pid = 4711,
                            .status = {.signal = 9},
                            .time_unix_ms = 1'000'000'000'000,
                            .message = "ValueError: no",
                            .traceback = "Traceback:\n  line\nValueError: no",
                            .error_file = "/tmp/error.json"};
  const WorkerFailure other{
      .host = "h1", .rank = 6, .local_rank = 2, .pid = 4712, .status = {.code = 3}};
  CHECK(torchrun_block({"train.py", first, "", {other}}) ==
        "============================================================\n"
        "train.py FAILED\n"
        "------------------------------------------------------------\n"
        "Failures:\n"
        "[1]:\n"
        "  time      : 1970-01-01_00:00:00\n"
        "  host      : h1\n"
        "  rank      : 6 (local_rank: 2)\n"
        "  exitcode  : 3 (pid: 4712)\n"
        "  error_file: <N/A>\n"
        "  traceback : To enable traceback see: "
        "https://pytorch.org/docs/stable/elastic/errors.html\n"
        "------------------------------------------------------------\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n"
        "  time      : 2001-09-09_01:46:40\n"
        "  host      : h1\n"
        "  rank      : 5 (local_rank: 1)\n"
        "  exitcode  : -9 (pid: 4711) (SIGKILL)\n"
        "  error_file: /tmp/error.json\n"
        "  traceback : Traceback:\n"
        "    line\n"
        "  ValueError: no\n"
        "============================================================\n");
}

TEST_CASE("a worker without a record is shown with what is known without it") {
  WorkerFailure root{.host = "h", .pid = 1, .status = {.code = 1}};
  CHECK_THAT(torchrun_block({"t", root, "KeyError at t.py:3: 'x'", {}}),
             contains("  traceback : KeyError at t.py:3: 'x'\n"));
  root.status = {.signal = 11};
  const std::string block = torchrun_block({"t", root, "", {}});
  CHECK_THAT(block, contains("<NO_OTHER_FAILURES>"));
  CHECK_THAT(block, contains("exitcode  : -11 (pid: 1) (SIGSEGV)\n"));
  CHECK_THAT(block, contains("traceback : Signal 11 (SIGSEGV) received by PID 1\n"));
  CHECK_THAT(torchrun_block({"t", root, "segmentation fault at t.py:3", {}}),
             contains("Signal 11 (SIGSEGV) received by PID 1: segmentation fault at t.py:3\n"));
}

TEST_CASE("a worker of which only the rank is known is shown without a process") {
  const WorkerFailure lost{.host = "h2", .rank = 3, .pid = kUnknownPid};
  const std::string block = torchrun_block({"t", lost, "node h2 was lost", {}});
  CHECK_THAT(block, contains("rank      : 3 (local_rank: <N/A>)\n"));
  CHECK_THAT(block, contains("exitcode  : <N/A>\n"));
  CHECK_THAT(block, contains("traceback : node h2 was lost\n"));
}

TEST_CASE("no text of a block gives an order to the terminal, or begins a line of its own") {
  const std::string evil = "\x1b]0;owned\a\nddprun: all is well";
  const WorkerFailure failure{.host = evil, .message = evil, .traceback = evil, .error_file = evil};
  const std::string block = torchrun_block({evil, failure, evil, {failure}});
  CHECK(block.find('\x1b') == std::string::npos);
  CHECK(block.find('\a') == std::string::npos);
  CHECK(block.find("\nddprun: all is well") == std::string::npos);
}

}  // namespace
}  // namespace ddprun
