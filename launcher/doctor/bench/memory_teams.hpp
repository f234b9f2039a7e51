// Measures memory: the CPUs of each NUMA node read and write arrays of their own at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

/// Measures all NUMA nodes of `cpus` together, with at most `threads_max` threads and about an
/// eighth of the `free_bytes`. Returns nothing when too little is free for arrays that no cache
/// holds. To be called in a process that was made for it.
std::vector<MemorySpeed> measure_memory(const std::vector<Cpu>& cpus, int threads_max,
                                        std::int64_t free_bytes);

}  // namespace ddprun
