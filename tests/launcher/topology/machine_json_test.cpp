#include "launcher/topology/machine_json.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

/// The JSON of workers that are placed there.
json workers_at(const std::vector<WorkerPlace>& places) {
  return json::parse(to_json(Machine{}, places))["workers"];
}

TEST_CASE("each worker of a machine is written with its place, and no other one") {
  const WorkerPlace with_gpu{"GPU1", {.cpus = {4, 5, 6}, .memory_nodes = {1}}};
  const WorkerPlace without{"", {.cpus = {0}, .memory_nodes = {0}}};
  CHECK(workers_at({}) == json::array());
  CHECK(workers_at({with_gpu, without}) == json::parse(R"([
    {"local_rank": 0, "gpu": "GPU1", "cpus": "4-6", "memory_nodes": "1"},
    {"local_rank": 1, "gpu": null, "cpus": "0", "memory_nodes": "0"}])"));
}

}  // namespace
}  // namespace ddprun
