#include "launcher/run/node_facts.hpp"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/machine/devices.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/system/own_process.hpp"
#include "launcher/settings/gpus.hpp"

namespace ddprun {

namespace {

/// Returns the NUMA nodes of the GPUs, in the order in which workers see the GPUs.
std::vector<int> visible_gpu_nodes(const EnvironmentLookup& environment) {
  const std::vector<int> nodes = gpu_numa_nodes("/");
  std::vector<int> visible;
  for (const int index : visible_indices(environment, static_cast<int>(nodes.size())))
    visible.push_back(nodes[static_cast<std::size_t>(index)]);
  return visible;
}

}  // namespace

Result<NodeFacts> node_facts(const LaunchSpec& spec, const EnvironmentLookup& environment) {
  NodeFacts node{.environment = own_environment(), .usable_cpus = usable_cpus()};
  node.terminals = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1};
  if (!spec.node.numa_binding) return node;
  const auto topology = read_topology("/", allowed_cpus());
  if (!topology) return topology.error();
  auto placements =
      place_workers(*spec.node.numa_binding, *topology,
                    nodes_of_workers(*topology, visible_gpu_nodes(environment), spec.workers));
  if (!placements)
    return Error{placements.error().kind, "--numa-binding: " + placements.error().message};
  node.placements = std::move(*placements);
  return node;
}

}  // namespace ddprun
