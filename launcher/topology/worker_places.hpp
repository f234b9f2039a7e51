// Where --numa-binding would put each worker of a machine. Pure: it asks the same placement that a
// job uses.
#pragma once

#include <string>
#include <vector>

#include "agent/placement/placement.hpp"
#include "base/result.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

struct WorkerPlace {
  std::string gpu;  // the name of the GPU that it uses; "": it has none
  Placement placement;
};

/// The GPUs of a machine that a job sees, by name and node, in the order in which workers take
/// them.
struct WorkerGpus {
  std::vector<std::string> names;
  std::vector<int> nodes;
};

/// Returns those GPUs of `machine` that NVIDIA's driver has; a GPU whose node is not known counts
/// as on node 0, as in a job.
WorkerGpus gpus_for_workers(const Machine& machine);

/// Returns the place of each of `workers` by local rank. Errors: those of place_workers().
Result<std::vector<WorkerPlace>> place_on(const Machine& machine, const WorkerGpus& gpus,
                                          NumaBinding binding, int workers);

}  // namespace ddprun
