// NodeLoad: how busy the machine of a node is. Its agent tells it, and the status shows it.
#pragma once

#include <cstdint>

namespace ddprun {

/// -1: not known.
struct NodeLoad {
  int cpus = -1;         // that the kernel counts; a quota of a container does not lower it
  int cpu_percent = -1;  // how much of them all was used since the measurement before
  std::int64_t memory_used_bytes = -1;
  std::int64_t memory_bytes = -1;           // the machine's, or less where a cgroup allows less
  int gpus = -1;                            // NVIDIA's; 0: it has none
  int gpu_percent = -1;                     // the mean of all
  std::int64_t gpu_memory_used_bytes = -1;  // the sum of all
  std::int64_t gpu_memory_bytes = -1;
  bool operator==(const NodeLoad&) const = default;
};

}  // namespace ddprun
