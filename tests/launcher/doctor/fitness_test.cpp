// Whether a node is fit for the next round, by recorded readings.
#include "launcher/doctor/check/fitness.hpp"

#include "tests/launcher/doctor/readings_fixture.hpp"

namespace ddprun {
namespace {

using State = NodeFitness::State;

const JobGpus kBothGpus{.indices = {0, 1}};

NodeFitness fitness(const std::string& name, const JobGpus& job = kBothGpus) {
  return fitness_of(recorded(name), job);
}

TEST_CASE("healthy nodes are fit") {
  for (const char* const name : {"healthy_dgx", "healthy_pod"}) {
    INFO(name);
    CHECK(fitness(name) == NodeFitness{});
  }
  CHECK(fitness("healthy_desktop", {.indices = {0}}) == NodeFitness{});
}

TEST_CASE("a node is not fit whose disk is full, or that lacks its folder") {
  NodeReading reading = recorded("healthy_dgx");
  reading.folders.push_back(
      {.role = "checkpoints", .path = "/data", .file_system = "ext4", .free_bytes = 12 << 20});
  CHECK(fitness_of(reading, kBothGpus).state == State::kUnfit);
  CHECK(fitness_of(reading, kBothGpus).seen == "12 MiB free in /data (ext4)");
  reading.folders.back() = {.role = "checkpoints", .path = "/data", .error = "it hangs"};
  CHECK(fitness_of(reading, kBothGpus).seen == "/data: it hangs");
}

TEST_CASE("a node is not fit whose GPU is broken, has fallen off the bus, or lacks links") {
  for (const char* const name : {"ecc_error", "gpu_off_the_bus", "nvlink_down", "driver_updated"}) {
    INFO(name);
    CHECK(fitness(name).state == State::kUnfit);
    CHECK_FALSE(fitness(name).advice.empty());
  }
}

TEST_CASE("what only a look at the whole machine finds is left to the doctor") {
  for (const char* const name : {"throttled", "persistence_off", "docker_defaults", "one_cpu"}) {
    INFO(name);
    CHECK(fitness(name).state == State::kFit);
  }
}

TEST_CASE("a GPU that somebody else uses may become free") {
  CHECK(fitness("gpu_taken").state == State::kBusy);
  CHECK(fitness("gpu_taken").seen == "60 GiB of GPU0 are in use, by python3 (pid 48120)");
  CHECK(fitness("gpu_taken_from_container").state == State::kBusy);
  CHECK_THAT(fitness("gpu_taken_from_container").seen,
             contains("44 GiB of GPU1 are in use, by som"));
}

TEST_CASE("GPUs of other jobs may be used, and workers of this one may live") {
  CHECK(fitness("gpu_taken", {.indices = {1}}).state == State::kFit);
  CHECK(fitness("gpu_taken", {.indices = {}}).state == State::kFit);
  CHECK(fitness("gpu_taken", {.indices = {0, 1}, .pids = {48120}}).state == State::kFit);
  CHECK(fitness("gpu_taken_from_container", {.indices = {0, 1}, .workers_live = true}).state ==
        State::kFit);
}

TEST_CASE("a process that has no name any more is one that is dying") {
  NodeReading reading = recorded("gpu_taken");
  reading.gpus->gpus[0].processes[0].name.clear();
  CHECK(fitness_of(reading, kBothGpus).seen ==
        "60 GiB of GPU0 are in use, by a process (pid 48120)");
  CHECK(fitness_of(reading, {.indices = {0, 1}, .workers_live = true}).state == State::kFit);
}

TEST_CASE("who only watches a GPU does not disturb") {
  NodeReading reading = recorded("gpu_taken");
  reading.gpus->gpus[0].processes[0].bytes = 30 << 20;
  reading.gpus->gpus[0].used_bytes = 700 << 20;
  CHECK(fitness_of(reading, kBothGpus).state == State::kFit);
}

TEST_CASE("somebody in another container is found beside a small process that is seen") {
  NodeReading reading = recorded("gpu_taken_from_container");
  reading.gpus->gpus[1].processes = {{.pid = 7, .name = "nvidia-cuda-mps", .bytes = 30 << 20}};
  CHECK(fitness_of(reading, kBothGpus).state == State::kBusy);
  reading.gpus->gpus[1].processes = {{.pid = 8, .name = "python3"}};
  CHECK(fitness_of(reading, {.indices = {0, 1}, .pids = {8}}).state == State::kFit);
}

TEST_CASE("a GPU that has fallen off the bus matters if it was the job's, or may have been") {
  CHECK(fitness("gpu_off_the_bus", {.indices = {0}}).state == State::kFit);
  CHECK(fitness("gpu_off_the_bus", {.indices = {0, 1}}).state == State::kUnfit);
}

TEST_CASE("a driver that tells nothing matters unless the job uses no GPU") {
  CHECK(fitness("driver_updated", {}).state == State::kUnfit);
  CHECK(fitness("driver_updated", {.hidden = true}).state == State::kFit);
  CHECK(fitness("gpu_taken", {.hidden = true, .indices = {0}}).state == State::kFit);
}

TEST_CASE("ECC errors of other jobs' GPUs do not matter") {
  NodeReading reading = recorded("ecc_error");
  std::vector<int> others;
  for (const GpuReading& gpu : reading.gpus->gpus)
    if (gpu.uncorrected_errors.value_or(0) == 0) others.push_back(gpu.index);
  REQUIRE_FALSE(others.empty());
  CHECK(fitness_of(reading, {.indices = others}).state == State::kFit);
}

}  // namespace
}  // namespace ddprun
