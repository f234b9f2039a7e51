#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "agent/workers/end_evidence.hpp"
#include "agent/workers/round_folder.hpp"
#include "agent/workers/worker_plan.hpp"
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

TEST_CASE("the kernel's OOM killer shows in the counters of the cgroup or of the machine") {
  ScratchFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream{folder.path() / name} << text;
  };
  const auto read = [&] { return read_oom_counters(folder.path()); };
  CHECK(read().cgroup == -1);
  write("proc/vmstat", "nr_free_pages 5\noom_kill 7\n");
  write("proc/self/cgroup", "4:cpu:/x\n0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.events", "low 0\noom 2\noom_kill 1\n");
  const OomCounters before = read();
  CHECK(before.cgroup == 1);
  CHECK(before.system == 7);
  CHECK(oom_evidence(before, read()).empty());
  write("proc/vmstat", "oom_kill 8\n");
  CHECK_THAT(oom_evidence(before, read()), contains("probably out of memory"));
  write("sys/fs/cgroup/job/step/memory.events", "oom_kill 3\n");
  CHECK_THAT(oom_evidence(before, read()), contains("killed 2 process"));
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  CHECK(oom_evidence(before, read()).ends_with("at its memory limit"));
  write("sys/fs/cgroup/job/step/memory.max", "1610612736\n");
  CHECK(oom_evidence(before, read()).ends_with("at its memory limit of 1.5 GiB"));
  write("proc/self/cgroup", "4:memory:/v1\n0::/\n");
  write("sys/fs/cgroup/memory/v1/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  CHECK(read().cgroup == 4);
  write("sys/fs/cgroup/memory/v1/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(read().limit == -1);
  write("sys/fs/cgroup/memory/v1/memory.limit_in_bytes", "67108864\n");
  CHECK(read().limit == 67108864);
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

}  // namespace
}  // namespace ddprun
