#include "launcher/run/node_facts.hpp"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "agent/machine_topology.hpp"
#include "agent/usable_cpus.hpp"
#include "base/own_process.hpp"
#include "launcher/settings/gpus.hpp"

namespace ddprun {

namespace {

/// Returns the NUMA nodes of the GPUs, in the order in which workers see the GPUs.
std::vector<int> visible_gpu_nodes(const EnvironmentLookup& environment) {
  std::vector<int> nodes = gpu_numa_nodes("/sys", "/proc");
  const auto list = environment("CUDA_VISIBLE_DEVICES");
  if (!list) return nodes;
  std::vector<int> visible;
  for (const std::string& device : visible_devices(*list, static_cast<int>(nodes.size())))
    if (const auto index = device_index(device)) visible.push_back(nodes[*index]);
  return visible;
}

}  // namespace

Result<NodeFacts> node_facts(const LaunchSpec& spec, const EnvironmentLookup& environment) {
  NodeFacts node{.environment = own_environment(), .usable_cpus = usable_cpus()};
  node.terminals = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1};
  if (!spec.numa_binding) return node;
  const auto topology = read_topology("/sys", allowed_cpus());
  if (!topology) return topology.error();
  auto placements =
      place_workers(*spec.numa_binding, *topology,
                    nodes_of_workers(*topology, visible_gpu_nodes(environment), spec.workers));
  if (!placements)
    return Error{placements.error().kind, "--numa-binding: " + placements.error().message};
  node.placements = std::move(*placements);
  return node;
}

}  // namespace ddprun
