#include "agent/placement/placement.hpp"

#include <algorithm>
#include <string>

#include "base/numbers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Ids = std::vector<int>;
using Placements = std::vector<Placement>;

CpuTopology one_node(int cpus) {
  CpuTopology topology;
  for (int id = 0; id < cpus; ++id) topology.cpus.push_back({.id = id, .core = id});
  return topology;
}

/// 2 packages x 2 nodes x 4 cores x 2 threads; the second threads are CPUs 16 to 31.
CpuTopology large_server() {
  CpuTopology topology;
  for (int id = 0; id < 32; ++id) {
    const int core = id % 16;
    topology.cpus.push_back({.id = id,
                             .core = core,
                             .package = core / 8,
                             .numa_node = core / 4,
                             .cache = core / 8 * 8});
  }
  return topology;
}

/// One node of 16 cores in 4 groups of 4 that share a cache.
CpuTopology four_complexes() {
  CpuTopology topology = one_node(16);
  for (Cpu& cpu : topology.cpus) cpu.cache = cpu.id / 4 * 4;
  return topology;
}

CpuTopology without(CpuTopology topology, const Ids& ids) {
  std::erase_if(topology.cpus, [&](const Cpu& cpu) {
    return std::find(ids.begin(), ids.end(), cpu.id) != ids.end();
  });
  return topology;
}

/// Each worker's CPUs, as a list.
std::vector<std::string> cpus_of(NumaBinding binding, const CpuTopology& topology,
                                 const Ids& worker_nodes) {
  const auto placements = place_workers(binding, topology, worker_nodes);
  REQUIRE(placements.has_value());
  std::vector<std::string> lists;
  for (const Placement& placement : *placements)
    lists.push_back(format_number_list(placement.cpus));
  return lists;
}

using Lists = std::vector<std::string>;

TEST_CASE("a worker belongs to the node of its GPU") {
  CHECK(nodes_of_workers(large_server(), {0, 1, 2, 3}, 4) == Ids{0, 1, 2, 3});
  CHECK(nodes_of_workers(large_server(), {1, 1}, 2) == Ids{1, 1});
}

TEST_CASE("more workers than GPUs share the GPUs in turn") {
  CHECK(nodes_of_workers(large_server(), {3, 1}, 5) == Ids{3, 1, 3, 1, 3});
}

TEST_CASE("without GPUs workers are spread over the nodes in blocks") {
  const CpuTopology machine = large_server();
  CHECK(nodes_of_workers(machine, {}, 8) == Ids{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(nodes_of_workers(machine, {}, 2) == Ids{0, 2});
  CHECK(nodes_of_workers(machine, {}, 1) == Ids{0});
  CHECK(nodes_of_workers(one_node(2), {}, 3) == Ids{0, 0, 0});
  const CpuTopology two_nodes = without(machine, parse_cpu_list("0-3,8-11,16-19,24-27").value());
  CHECK(nodes_of_workers(two_nodes, {}, 8) == Ids{1, 1, 1, 1, 3, 3, 3, 3});
}

TEST_CASE("a GPU on a node without allowed CPUs leaves its worker to the other nodes") {
  const CpuTopology first_package = without(large_server(), parse_cpu_list("8-15,24-31").value());
  CHECK(nodes_of_workers(first_package, {2, 2, 3, 3}, 4) == Ids{0, 0, 1, 1});
  CHECK(nodes_of_workers(first_package, {1, 1, 2, 3}, 4) == Ids{1, 1, 1, 1});
}

TEST_CASE("node binding gives all CPUs of the node and its memory") {
  const auto placements = place_workers(NumaBinding::kNode, large_server(), {1, 1, 3});
  REQUIRE(placements.has_value());
  const Placement first{{4, 5, 6, 7, 20, 21, 22, 23}, {1}};
  const Placement last{{12, 13, 14, 15, 28, 29, 30, 31}, {3}};
  CHECK(*placements == Placements{first, first, last});
}

TEST_CASE("node binding leaves out the CPUs that are not allowed") {
  const CpuTopology cut = without(large_server(), {4, 20, 21, 22, 23});
  CHECK(cpus_of(NumaBinding::kNode, cut, {1}) == Lists{"5-7"});
}

TEST_CASE("socket binding gives all nodes of the package") {
  const auto placements = place_workers(NumaBinding::kSocket, large_server(), {1, 2});
  REQUIRE(placements.has_value());
  CHECK(format_number_list((*placements)[0].cpus) == "0-7,16-23");
  CHECK((*placements)[0].memory_nodes == Ids{0, 1});
  CHECK(format_number_list((*placements)[1].cpus) == "8-15,24-31");
  CHECK((*placements)[1].memory_nodes == Ids{2, 3});
}

TEST_CASE("socket binding takes memory only where it takes CPUs") {
  const CpuTopology cut = without(large_server(), parse_cpu_list("0-3,16-19").value());
  const auto placements = place_workers(NumaBinding::kSocket, cut, {1});
  REQUIRE(placements.has_value());
  CHECK(placements->front().memory_nodes == Ids{1});
}

TEST_CASE("exclusive binding divides the cores of a node, hyperthreads going together") {
  CHECK(cpus_of(NumaBinding::kExclusive, large_server(), {1, 0, 1, 3}) ==
        Lists{"4-5,20-21", "0-3,16-19", "6-7,22-23", "12-15,28-31"});
}

TEST_CASE("exclusive binding gives the cores left over to the lowest ranks") {
  CHECK(cpus_of(NumaBinding::kExclusive, one_node(8), {0, 0, 0}) == Lists{"0-2", "3-5", "6-7"});
  CHECK(cpus_of(NumaBinding::kExclusive, large_server(), {2, 2, 2}) ==
        Lists{"8-9,24-25", "10,26", "11,27"});
}

TEST_CASE("exclusive binding counts a core as one, whichever of its hyperthreads are allowed") {
  const CpuTopology cut = without(large_server(), {0, 1, 17, 18});  // cores 0, 2 and 3 are left
  CHECK(cpus_of(NumaBinding::kExclusive, cut, {0, 0}) == Lists{"2,16", "3,19"});
}

TEST_CASE("exclusive binding needs a core for each worker") {
  const auto placements =
      place_workers(NumaBinding::kExclusive, large_server(), {0, 1, 1, 1, 1, 1});
  REQUIRE_FALSE(placements.has_value());
  CHECK(placements.error().kind == Error::Kind::kInvalid);
  CHECK(placements.error().message ==
        "NUMA node 1 has 4 usable cores, too few for its 5 exclusive workers");
}

TEST_CASE("core-complex binding gives each worker one cache, and starts over at the last") {
  CHECK(cpus_of(NumaBinding::kCoreComplex, four_complexes(), {0, 0, 0, 0, 0}) ==
        Lists{"0-3", "4-7", "8-11", "12-15", "0-3"});
}

TEST_CASE("core-complex binding begins with the caches that have most CPUs") {
  const CpuTopology cut = without(four_complexes(), {0, 1, 9});
  CHECK(cpus_of(NumaBinding::kCoreComplex, cut, {0, 0, 0, 0}) ==
        Lists{"4-7", "12-15", "8,10-11", "2-3"});
}

TEST_CASE("core-complex binding stays within the node when a cache spans two") {
  CHECK(cpus_of(NumaBinding::kCoreComplex, large_server(), {1, 1}) ==
        Lists{"4-7,20-23", "4-7,20-23"});
}

TEST_CASE("a node without allowed CPUs is refused, not bound to nothing") {
  for (const auto binding : {NumaBinding::kNode, NumaBinding::kSocket, NumaBinding::kExclusive,
                             NumaBinding::kCoreComplex}) {
    const auto placements = place_workers(binding, large_server(), {7});
    REQUIRE_FALSE(placements.has_value());
    CHECK(placements.error().message == "NUMA node 7 has no CPU that may be used");
  }
  CHECK_FALSE(place_workers(NumaBinding::kNode, {}, nodes_of_workers({}, {}, 1)).has_value());
}

TEST_CASE("a small machine without GPUs can be bound in every way") {
  for (const auto binding : {NumaBinding::kNode, NumaBinding::kSocket, NumaBinding::kExclusive,
                             NumaBinding::kCoreComplex}) {
    const CpuTopology machine = one_node(2);
    const auto placements = place_workers(binding, machine, nodes_of_workers(machine, {}, 2));
    REQUIRE(placements.has_value());
    for (const Placement& placement : *placements) CHECK(placement.memory_nodes == Ids{0});
  }
}

}  // namespace
}  // namespace ddprun
