#include "agent/placement/placement.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace ddprun {

namespace {

/// A worker among the workers of its node.
struct Seat {
  int node = 0;
  std::size_t index = 0;    // how many of them have a lower local rank
  std::size_t workers = 0;  // how many they are, with this one
};

std::set<int> nodes_with_cpus(const CpuTopology& topology) {
  std::set<int> nodes;
  for (const Cpu& cpu : topology.cpus) nodes.insert(cpu.numa_node);
  return nodes;
}

std::vector<Cpu> cpus_of_node(const CpuTopology& topology, int node) {
  std::vector<Cpu> cpus;
  std::ranges::copy_if(topology.cpus, std::back_inserter(cpus),
                       [&](const Cpu& cpu) { return cpu.numa_node == node; });
  return cpus;
}

Placement placement_on(const std::vector<Cpu>& cpus) {
  Placement placement;
  std::set<int> nodes;
  for (const Cpu& cpu : cpus) {
    placement.cpus.push_back(cpu.id);
    nodes.insert(cpu.numa_node);
  }
  placement.memory_nodes.assign(nodes.begin(), nodes.end());
  return placement;
}

std::vector<Cpu> cpus_of_sockets(const CpuTopology& topology, const std::vector<Cpu>& node) {
  std::set<int> packages;  // several, where the machine does not tell its nodes apart
  for (const Cpu& cpu : node) packages.insert(cpu.package);
  std::vector<Cpu> cpus = topology.cpus;
  std::erase_if(cpus, [&](const Cpu& cpu) { return !packages.contains(cpu.package); });
  return cpus;
}

Result<std::vector<Cpu>> share_of_cores(std::vector<Cpu> node, const Seat& seat) {
  std::map<int, std::size_t> position;  // each core's among the node's cores
  for (const Cpu& cpu : node) position[cpu.core] = 0;
  std::size_t cores = 0;
  for (auto& [core, at] : position) at = cores++;
  if (cores < seat.workers)
    return Error{Error::Kind::kInvalid, "NUMA node " + std::to_string(seat.node) + " has " +
                                            std::to_string(cores) +
                                            " usable cores, too few for its " +
                                            std::to_string(seat.workers) + " exclusive workers"};
  const std::size_t each = cores / seat.workers;
  const std::size_t left_over = cores % seat.workers;
  const std::size_t first = seat.index * each + std::min(seat.index, left_over);
  const std::size_t end = first + each + (seat.index < left_over ? 1 : 0);
  std::erase_if(node, [&](const Cpu& cpu) {
    return position.at(cpu.core) < first || position.at(cpu.core) >= end;
  });
  return node;
}

std::vector<Cpu> core_complex(const std::vector<Cpu>& node, const Seat& seat) {
  std::map<int, std::vector<Cpu>> by_cache;
  for (const Cpu& cpu : node) by_cache[cpu.cache].push_back(cpu);
  std::vector<std::vector<Cpu>> groups;
  groups.reserve(by_cache.size());
  for (auto& [cache, cpus] : by_cache) groups.push_back(std::move(cpus));
  std::ranges::sort(groups, [](const auto& a, const auto& b) {
    return std::tuple{b.size(), a.front().id} < std::tuple{a.size(), b.front().id};
  });
  return groups[seat.index % groups.size()];
}

Result<std::vector<Cpu>> cpus_of(NumaBinding binding, const CpuTopology& topology,
                                 const Seat& seat) {
  const std::vector<Cpu> node = cpus_of_node(topology, seat.node);
  if (node.empty())
    return Error{Error::Kind::kInvalid,
                 "NUMA node " + std::to_string(seat.node) + " has no CPU that may be used"};
  switch (binding) {
    case NumaBinding::kNode:
      return node;
    case NumaBinding::kSocket:
      return cpus_of_sockets(topology, node);
    case NumaBinding::kExclusive:
      return share_of_cores(node, seat);
    case NumaBinding::kCoreComplex:
      return core_complex(node, seat);
  }
  return node;
}

}  // namespace

std::optional<NumaBinding> numa_binding_named(std::string_view name) {
  if (name == "node") return NumaBinding::kNode;
  if (name == "socket") return NumaBinding::kSocket;
  if (name == "exclusive") return NumaBinding::kExclusive;
  if (name == "core-complex") return NumaBinding::kCoreComplex;
  return std::nullopt;
}

std::vector<int> nodes_of_workers(const CpuTopology& topology, const std::vector<int>& gpu_nodes,
                                  int workers) {
  const std::set<int> usable = nodes_with_cpus(topology);
  const std::vector<int> spread(usable.begin(), usable.end());
  std::vector<int> nodes(static_cast<std::size_t>(std::max(0, workers)));
  for (std::size_t i = 0; i < nodes.size() && !spread.empty(); ++i) {
    nodes[i] = spread[i * spread.size() / nodes.size()];
    if (gpu_nodes.empty()) continue;
    const int of_gpu = gpu_nodes[i % gpu_nodes.size()];
    if (usable.contains(of_gpu)) nodes[i] = of_gpu;
  }
  return nodes;
}

Result<std::vector<Placement>> place_workers(NumaBinding binding, const CpuTopology& topology,
                                             const std::vector<int>& worker_nodes) {
  std::map<int, std::size_t> seated;
  std::vector<Placement> placements;
  for (const int node : worker_nodes) {
    const auto workers = static_cast<std::size_t>(std::ranges::count(worker_nodes, node));
    const auto cpus = cpus_of(binding, topology, {node, seated[node]++, workers});
    if (!cpus) return cpus.error();
    placements.push_back(placement_on(*cpus));
  }
  return placements;
}

}  // namespace ddprun
