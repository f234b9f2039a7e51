// What is logged, as a reader of the files and as the agent sees it. tensorboard_test.py lets
// TensorBoard read such files.

#include "ddprun/metrics_log.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ddprun/worker_env.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"
#include "worker_sdk/progress/event_file.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<nlohmann::json> lines_of(const fs::path& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<std::int64_t> steps_of(const fs::path& path) {
  std::vector<std::int64_t> steps;
  for (const auto& line : lines_of(path)) steps.push_back(line.at("step"));
  return steps;
}

TEST_CASE("each call is a line of JSON that a reader has at once") {
  const ScratchFolder folder;
  MetricsLog metrics{{.json_lines = folder / "metrics.jsonl"}};
  metrics.log(20, {{"loss", 0.1}, {"lr", 1e-3}});
  metrics.log(30, {{"loss", std::nan("")}});
  const auto lines = lines_of(folder / "metrics.jsonl");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("step") == 20);
  CHECK(lines[0].at("loss") == 0.1);
  CHECK(lines[0].at("lr") == 1e-3);
  CHECK(lines[0].at("time") > 1.7e9);
  CHECK(lines[1].at("loss").is_null());
}

TEST_CASE("a training that goes on leaves no step twice, nor half a line") {
  const ScratchFolder folder;
  const fs::path path = folder / "metrics.jsonl";
  {
    MetricsLog metrics{{.json_lines = path}};
    for (const int step : {10, 20, 30}) metrics.log(step, {{"loss", 1}});
  }
  std::ofstream{path, std::ios::app} << R"({"step":40,"lo)";  // it was killed here
  {
    MetricsLog metrics{{.json_lines = path}};
    metrics.resume(20);
    metrics.log(30, {{"loss", 2}});
    CHECK_THROWS_WITH(metrics.resume(0), contains("resume() after log()"));
  }
  CHECK(steps_of(path) == std::vector<std::int64_t>{10, 20, 30});
  CHECK(lines_of(path).back().at("loss") == 2);
  MetricsLog{{.json_lines = path}}.log(40, {});  // without resume() all stays
  CHECK(steps_of(path) == std::vector<std::int64_t>{10, 20, 30, 40});
  MetricsLog{{.json_lines = path}}.resume(0);
  CHECK(steps_of(path).empty());
}

TEST_CASE("a file of something else is left alone, and one that cannot be written is reported") {
  const ScratchFolder folder;
  std::ofstream{folder / "notes"} << "my notes\n";
  CHECK_THROWS_WITH((MetricsLog{{.json_lines = folder / "notes"}}.log(1, {})),
                    contains("no metrics: my notes"));
  CHECK(contents(folder / "notes") == "my notes\n");
  CHECK_THROWS_WITH((MetricsLog{{.json_lines = folder / "gone" / "x"}}.log(1, {})),
                    contains("gone/x': it cannot be opened"));
}

TEST_CASE("records have the bytes of TensorFlow's") {
  // RecordWriter of the package tensorboard has written it.
  CHECK(tf_record("ab") ==
        std::string("\x02\0\0\0\0\0\0\0\x78\x27\x0b\x34", 12) + "ab\x1c\xb0\xf0\xf4");
}

TEST_CASE("an event file begins with its version, then the restart, then the numbers") {
  const ScratchFolder folder;
  MetricsLog metrics{{.tensorboard = folder / "runs"}};
  metrics.resume(7);
  metrics.log(8, {{"loss", 0.5}});
  const fs::path file = *fs::directory_iterator{folder / "runs"};
  CHECK_THAT(file.filename().string(), contains("tfevents"));
  const std::string bytes = contents(file);
  const auto restart = bytes.find(std::string("\x10\x08\x3a\x02\x08\x01", 6));  // step 8, START
  const auto loss = bytes.find(std::string("\x0a\x04loss\x15\0\0\0\x3f", 11));  // 0.5F
  CHECK(bytes.find("brain.Event:2") < restart);
  CHECK(restart < loss);
  CHECK(loss != std::string::npos);
}

TEST_CASE("what is logged is the worker's heartbeat") {
  const int fd = memfd_create("slots", 0);
  REQUIRE(fd >= 0);
  REQUIRE(ftruncate(fd, sizeof(HeartbeatSlot)) == 0);
  void* memory = mmap(nullptr, sizeof(HeartbeatSlot), PROT_READ, MAP_SHARED, fd, 0);
  REQUIRE(memory != MAP_FAILED);
  setenv(env::kHeartbeat, ("/proc/self/fd/" + std::to_string(fd) + ":0").c_str(), 1);
  MetricsLog metrics;
  unsetenv(env::kHeartbeat);
  metrics.log(11, {{"lr", 1}}, 100);
  metrics.log(12, {{"lr", 1}, {"loss", 0.75}}, 100);
  const auto reading = static_cast<const HeartbeatSlot*>(memory)->read();
  REQUIRE(reading.has_value());
  CHECK(reading->step == 12);
  CHECK(reading->loss == 0.75);
  CHECK(reading->samples_per_second > 0);
  munmap(memory, sizeof(HeartbeatSlot));
  close(fd);
}

}  // namespace
}  // namespace ddprun::sdk
