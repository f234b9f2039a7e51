// Measures CPUs: each computes the same product of matrices.
#pragma once

#include <vector>

#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

/// Measures the CPUs, `together` at the same time, as many as the cgroup lets run. With a long list
/// some of its CPUs are left out, evenly. To be called in a process that was made for it.
std::vector<CpuSpeed> measure_cpus(const std::vector<int>& cpus, int together);

}  // namespace ddprun
