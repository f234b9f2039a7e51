#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "agent/placement/usable_cpus.hpp"
#include "agent/reports/failure_report.hpp"
#include "agent/workers/error_file.hpp"
#include "agent/workers/oom.hpp"
#include "agent/workers/output_plan.hpp"
#include "agent/workers/recorded_error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

TEST_CASE("both forms of error file are understood") {
  const auto object = parse_recorded_error(
      R"({"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "Traceback", "timestamp": "1"}}})");
  REQUIRE(object.has_value());
  CHECK(object->message == "ValueError: no");
  CHECK(object->traceback == "Traceback");
  const auto text = parse_recorded_error(R"({"message": "plain", "timestamp": 1})");
  REQUIRE(text.has_value());
  CHECK(text->message == "plain");
  CHECK(text->traceback.empty());
}

TEST_CASE("an error file that is cut off or something else is no error file") {
  CHECK_FALSE(parse_recorded_error("").has_value());
  CHECK_FALSE(parse_recorded_error(R"({"message": {"mess)").has_value());
  CHECK_FALSE(parse_recorded_error(R"({"message": 3})").has_value());
  CHECK_FALSE(parse_recorded_error(R"({"message": {"message": 3}})").has_value());
  CHECK_FALSE(parse_recorded_error("[1]").has_value());
  CHECK_FALSE(read_error_file("/nonexistent/error.json").has_value());
}

TEST_CASE("an error file is read whole, up to the size that no exception has") {
  ScratchFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream{folder / "error.json"} << text;
    return read_error_file(folder / "error.json");
  };
  const auto error = read(R"({"message": {"message": "E", "extraInfo": {"py_callstack": "T"}}})");
  REQUIRE(error.has_value());
  CHECK(error->message == "E");
  CHECK(error->traceback == "T");
  CHECK_FALSE(read("").has_value());
  CHECK(read(R"({"message": ")" + std::string(900'000, 'x') + R"("})").has_value());
  const auto too_long = read(R"({"message": ")" + std::string(1'100'000, 'x') + R"("})");
  REQUIRE(too_long.has_value());
  CHECK_THAT(too_long->message, contains("longer than 1 MiB"));
  const auto no_callstack =
      parse_recorded_error(R"({"message": {"message": "E", "extraInfo": {}}})");
  REQUIRE(no_callstack.has_value());
  CHECK(no_callstack->traceback.empty());
  CHECK_FALSE(
      parse_recorded_error(R"({"message": {"message": "E", "extraInfo": {"py_callstack": 3}}})")
          .has_value());
}

TEST_CASE("nobody waits for an error file that is a pipe, and what is old is removed") {
  ScratchFolder folder;
  const std::string path = (folder / "error.json").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(read_error_file(path).has_value());
  remove_error_file(path);
  CHECK_FALSE(std::filesystem::exists(path));
  remove_error_file(path);  // nothing is there
}

TEST_CASE("the failure report names rank, node, end and last lines, then torchrun's root cause") {
  setenv("TZ", "UTC", 1);
  const WorkerFailure first{.host = "h1",
                            .rank = 5,
                            .local_rank = 1,
                            .pid = 4711,
                            .status = {.signal = 9},
                            .time_unix_ms = 1'000'000'000'000,
                            .evidence = "out of memory: somehow",
                            .message = "ValueError: no",
                            .traceback = "Traceback:\n  line\nValueError: no",
                            .error_file = "/tmp/error.json",
                            .last_heartbeat = "step 120, loss 0.31, 0.4 s before",
                            .last_lines = {"first", "second"}};
  const WorkerFailure other{
      .host = "h1", .rank = 6, .local_rank = 2, .pid = 4712, .status = {.code = 3}};
  CHECK(failure_report({"train.py", first, 3, {other}, {9, 4, 7, 8}}) ==
        "ddprun: the job failed: rank 5 (local rank 1 on host h1, pid 4711) was killed by SIGKILL "
        "(signal 9)\n"
        "  out of memory: somehow\n"
        "  last heartbeat: step 120, loss 0.31, 0.4 s before\n"
        "  in attempt 3, the last one allowed\n"
        "  it recorded:\n"
        "    | ValueError: no\n"
        "  its last lines:\n"
        "    | first\n"
        "    | second\n"
        "  meanwhile rank 6 (local rank 2 on host h1, pid 4712) exited with code 3\n"
        "  [4,7-9] were stopped by ddprun\n"
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

TEST_CASE("no text of a failure gives an order to the terminal, or begins a line of its own") {
  const std::string evil = "\x1b]0;owned\a\nddprun: all is well";
  const WorkerFailure failure{.host = evil,
                              .status = {.code = 1},
                              .evidence = evil,
                              .message = evil,
                              .traceback = evil,
                              .error_file = evil,
                              .last_heartbeat = evil,
                              .last_lines = {evil}};
  const std::string report = failure_report({evil, failure, 2, {failure}, {}});
  CHECK(report.find('\x1b') == std::string::npos);
  CHECK(report.find('\a') == std::string::npos);
  CHECK(report.find("\nddprun: all is well") == std::string::npos);
  CHECK_THAT(report, contains("    | \\x1b]0;owned\\x07\n    | ddprun: all is well\n"));
}

TEST_CASE("the failure report says when there is nothing to quote") {
  const WorkerFailure failure{.host = "h", .pid = 1, .status = {.signal = 11}};
  const std::string report = failure_report({"train", failure, 1, {}, {0}});
  CHECK_THAT(report, contains("it wrote nothing to its output"));
  CHECK_THAT(report, contains("  [0] was stopped by ddprun\n"));
  CHECK_THAT(report, contains("<NO_OTHER_FAILURES>"));
  CHECK_THAT(report, contains("exitcode  : -11 (pid: 1) (SIGSEGV)\n"));
  CHECK_THAT(report, contains("traceback : Signal 11 (SIGSEGV) received by PID 1\n"));
}

TEST_CASE("the kernel's OOM killer shows in the counters of the cgroup or of the machine") {
  ScratchFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream{folder.path() / name} << text;
  };
  const auto read = [&] {
    return read_oom_counters(folder.path() / "proc", folder.path() / "cgroup");
  };
  CHECK(read().cgroup == -1);
  write("proc/vmstat", "nr_free_pages 5\noom_kill 7\n");
  write("proc/self/cgroup", "4:cpu:/x\n0::/job/step\n");
  write("cgroup/job/step/memory.events", "low 0\noom 2\noom_kill 1\n");
  const OomCounters before = read();
  CHECK(before.cgroup == 1);
  CHECK(before.system == 7);
  CHECK(oom_evidence(before, read()).empty());
  write("proc/vmstat", "oom_kill 8\n");
  CHECK_THAT(oom_evidence(before, read()), contains("probably out of memory"));
  write("cgroup/job/step/memory.events", "oom_kill 3\n");
  CHECK_THAT(oom_evidence(before, read()), contains("killed 2 process"));
  write("proc/self/cgroup", "4:memory:/v1\n0::/\n");
  write("cgroup/memory/v1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  CHECK(read().cgroup == 4);
}

TEST_CASE("the OOM killer is blamed only for what its counters say it did meanwhile") {
  CHECK(oom_evidence({.cgroup = -1, .system = -1}, {.cgroup = 3, .system = 5}).empty());
  CHECK(oom_evidence({.cgroup = 3, .system = 5}, {.cgroup = -1, .system = -1}).empty());
  CHECK(oom_evidence({.cgroup = 3, .system = 5}, {.cgroup = 3, .system = 5}).empty());
  CHECK_THAT(oom_evidence({.cgroup = 0, .system = 5}, {.cgroup = 1, .system = 9}),
             contains("killed 1 process(es) of this job's cgroup"));
  CHECK_THAT(oom_evidence({.cgroup = 0, .system = 5}, {.cgroup = 0, .system = 9}),
             contains("killed 4 process(es) of this machine"));
}

TEST_CASE("the prefix template knows role, ranks and host, and leaves the rest alone") {
  const LineWriter writer{"trainer", "h1", "12", "3"};
  CHECK(line_prefix("[${role_name}${local_rank}]:", writer) == "[trainer3]:");
  CHECK(line_prefix("${hostname}:${rank}: ", writer) == "h1:12: ");
  CHECK(line_prefix("$rank/$local_rank $$ ${other} $other $ ${rank $${rank}", writer) ==
        "12/3 $$ ${other} $other $ ${rank ${rank}");
}

TEST_CASE("a cgroup's quota counts in whole CPUs") {
  CHECK(cpu_quota("200000 100000") == 2);
  CHECK(cpu_quota("50000 100000") == 1);
  CHECK_FALSE(cpu_quota("max 100000").has_value());
  CHECK_FALSE(cpu_quota("").has_value());
  CHECK_FALSE(cpu_quota("nonsense here").has_value());
  CHECK(usable_cpus() >= 1);
}

}  // namespace
}  // namespace ddprun
