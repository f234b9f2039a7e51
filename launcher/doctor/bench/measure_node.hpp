// Measures the CPUs and the memory of this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

/// Measures the CPUs, `together` at the same time, as many as the cgroup lets run. With a long list
/// some of its CPUs are left out, evenly. To be called in a process that was made for it.
std::vector<CpuSpeed> measure_cpus(const std::vector<int>& cpus, int together);

/// Measures all NUMA nodes of `cpus` together, with at most `threads_max` threads and about an
/// eighth of the `free_bytes`. Returns nothing when too little is free for arrays that no cache
/// holds. To be called in a process that was made for it.
std::vector<MemorySpeed> measure_memory(const std::vector<Cpu>& cpus, int threads_max,
                                        std::int64_t free_bytes);

/// What this process may use of the node.
struct NodeShare {
  std::optional<double> cpu_quota;  // CPUs that the cgroup grants
  std::int64_t free_bytes = 0;
};

/// Measures for 1 to 2 s, in a process of its own, which gets 20 s. To be called while there is one
/// thread.
NodeSpeeds measure_node(const std::string& node, const NodeShare& share);

/// What tells machines apart: containers and namespaces of one machine have the same; "": unknown.
std::string machine_identity();

}  // namespace ddprun
