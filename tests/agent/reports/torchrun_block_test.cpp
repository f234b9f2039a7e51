#include "agent/reports/torchrun_block.hpp"

#include <cstdlib>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

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
