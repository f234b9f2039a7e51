// What the kernel tells about this machine's CPUs, memory and GPUs: which belong together.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

inline constexpr int kCpusMax = 8192;  // the kernel's own limit (CONFIG_NR_CPUS)

/// One logical CPU, that is, one hyperthread.
struct Cpu {
  int id = 0;         // the kernel's number
  int core = 0;       // the physical core: hyperthreads of one core share it, no other CPU has it
  int package = 0;    // the socket
  int numa_node = 0;  // the memory it is close to
  int cache = 0;      // the group that shares the last-level cache; no other group has this number

  bool operator==(const Cpu&) const = default;
};

struct CpuTopology {
  std::vector<Cpu> cpus;  // those allowed and online, each once, by ascending id
};

/// Reads the kernel's "0-3,8,10-11" into ascending CPU numbers; an empty text is an empty list, and
/// a newline may follow. kInvalid for anything else, and for numbers from kCpusMax on.
/// Format: https://docs.kernel.org/admin-guide/cputopology.html
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// The other way round: ascending numbers, each once, to "0-3,8,10-11".
std::string format_number_list(const std::vector<int>& numbers);

/// The CPUs that this process may run on, ascending; empty when the kernel does not tell.
/// See https://man7.org/linux/man-pages/man2/sched_getaffinity.2.html
std::vector<int> allowed_cpus();

/// The topology of those `allowed` CPUs that are online, from `sysfs`, which is "/sys". A machine
/// that knows no NUMA nodes is all node 0; where caches are not described, the package is the
/// group. kNotFound when a CPU is not described, kInvalid when a file makes no sense,
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
