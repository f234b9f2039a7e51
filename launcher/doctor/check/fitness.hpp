// Whether a node is fit for the next round of a job (--check-nodes): a few of the doctor's checks,
// of what is sick between two rounds, and takes no longer than a worker's start. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "launcher/doctor/read/reading.hpp"
#include "launcher/run/node_fitness.hpp"

namespace ddprun {

/// What the job has of this node's GPUs.
struct JobGpus {
  bool hidden = false;          // its workers see none (CUDA_VISIBLE_DEVICES names none)
  std::vector<int> indices;     // those that its workers use, as the driver counts them
  std::set<std::int64_t> pids;  // its own processes
  /// Some workers live while others are started again. In a container the driver may not name
  /// processes, and then they are taken for these.
  bool workers_live = false;
};

/// Looks at the folders and GPUs of a reading.
NodeFitness fitness_of(NodeReading reading, const JobGpus& job);

}  // namespace ddprun
