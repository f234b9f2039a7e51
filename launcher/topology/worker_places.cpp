#include "launcher/topology/worker_places.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

WorkerGpus gpus_for_workers(const Machine& machine) {
  WorkerGpus gpus;
  for (const Device& device : machine.devices) {
    if (!device.for_workers) continue;
    gpus.names.push_back(device.name);
    gpus.nodes.push_back(std::max(0, device.numa_node.value_or(0)));
  }
  return gpus;
}

Result<std::vector<WorkerPlace>> place_on(const Machine& machine, const WorkerGpus& gpus,
                                          NumaBinding binding, int workers) {
  auto placements =
      place_workers(binding, machine.usable, nodes_of_workers(machine.usable, gpus.nodes, workers));
  if (!placements) return placements.error();
  std::vector<WorkerPlace> places;
  for (std::size_t i = 0; i < placements->size(); ++i)
    places.push_back(
        {gpus.names.empty() ? "" : gpus.names[i % gpus.names.size()], std::move((*placements)[i])});
  return places;
}

}  // namespace ddprun
