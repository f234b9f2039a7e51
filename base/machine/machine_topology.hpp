// Reads from the kernel which of this machine's CPUs belong together, and which are ours.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The CPUs that a process may run on, ascending; empty when the kernel does not tell. 0: this one.
/// See https://man7.org/linux/man-pages/man2/sched_getaffinity.2.html
std::vector<int> allowed_cpus(pid_t process = 0);

/// The CPUs of the machine that are online, ascending; those that it has where the kernel does not
/// tell which of them are.
std::vector<int> online_cpus(const std::filesystem::path& root);

/// How many CPUs this process may really use: those, less what the quotas of the cgroups around it
/// take away; at least 1. `root` is "/".
int usable_cpus(const std::filesystem::path& root = "/");

/// The topology of those `allowed` CPUs that are online, below `root`, which is "/". A machine
/// that knows no NUMA nodes is all node 0; where caches are not described, the package is the
/// group. Errors: kNotFound when a CPU is not described, kInvalid when a file makes no sense,
/// kUnavailable when no allowed CPU is online. The files are described in
/// https://docs.kernel.org/admin-guide/cputopology.html (cpuN/topology),
/// https://docs.kernel.org/admin-guide/abi-testing.html (cpuN/cache/indexM) and
/// https://docs.kernel.org/admin-guide/abi-stable.html (node/nodeN/cpulist).
Result<CpuTopology> read_topology(const std::filesystem::path& root,
                                  const std::vector<int>& allowed);

}  // namespace ddprun
