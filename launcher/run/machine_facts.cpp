#include "launcher/run/machine_facts.hpp"

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

Result<MachineFacts> machine_facts(const LaunchSpec& spec, const EnvironmentLookup& environment) {
  MachineFacts machine{.environment = own_environment(), .usable_cpus = usable_cpus()};
  machine.terminals = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1};
  if (!spec.node.numa_binding) return machine;
  const auto topology = read_topology("/", allowed_cpus());
  if (!topology) return topology.error();
  auto placements =
      place_workers(*spec.node.numa_binding, *topology,
                    nodes_of_workers(*topology, visible_gpu_nodes(environment), spec.workers));
  if (!placements)
    return Error{placements.error().kind, "--numa-binding: " + placements.error().message};
  machine.placements = std::move(*placements);
  return machine;
}

}  // namespace ddprun
