// Reads from the kernel which of this machine's CPUs, memory and GPUs belong together.
#pragma once

#include <filesystem>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The CPUs that this process may run on, ascending; empty when the kernel does not tell.
/// See https://man7.org/linux/man-pages/man2/sched_getaffinity.2.html
std::vector<int> allowed_cpus();

/// How many CPUs this process may really use: those, less what the quotas of the cgroups around it
/// take away; at least 1. `root` is "/".
int usable_cpus(const std::filesystem::path& root = "/");

/// The topology of those `allowed` CPUs that are online, from `sysfs`, which is "/sys". A machine
/// that knows no NUMA nodes is all node 0; where caches are not described, the package is the
/// group. Errors: kNotFound when a CPU is not described, kInvalid when a file makes no sense,
/// kUnavailable when no allowed CPU is online. The files are described in
/// https://docs.kernel.org/admin-guide/cputopology.html (cpuN/topology),
/// https://docs.kernel.org/admin-guide/abi-testing.html (cpuN/cache/indexM) and
/// https://docs.kernel.org/admin-guide/abi-stable.html (node/nodeN/cpulist).
Result<CpuTopology> read_topology(const std::filesystem::path& sysfs,
                                  const std::vector<int>& allowed);

/// The NUMA node of each NVIDIA GPU of this machine, in PCI bus order, from `sysfs` ("/sys") and
/// `proc` ("/proc"); empty when there are none. A GPU whose node is not known counts as on node 0.
/// CUDA_VISIBLE_DEVICES is not looked at. See the driver's README, "/proc interface", and
/// https://docs.kernel.org/admin-guide/abi-testing.html (bus/pci/devices/.../numa_node).
std::vector<int> gpu_numa_nodes(const std::filesystem::path& sysfs,
                                const std::filesystem::path& proc);

}  // namespace ddprun
