#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

constexpr std::int64_t kMemoryNeeded = 512 * kMiB;  // torch alone takes as much in each worker
constexpr std::int64_t kMemoryWanted = 2 * kGiB;
constexpr std::int64_t kShmNeeded = 16 * kMiB;
constexpr std::int64_t kShmWanted = 128 * kMiB;  // containers have 64 MiB by default

void check_available(const MemoryReading& memory, NodeFindings& found) {
  if (!memory.available_bytes) return;
  const std::string seen =
      fmt::format("{} available of {}", bytes_text(*memory.available_bytes),
                  memory.total_bytes ? bytes_text(*memory.total_bytes) : "an unknown amount");
  const Trouble trouble{seen,
                        "torch alone takes about 0.5 GiB in each worker: the kernel kills a rank "
                        "(signal 9) when memory is used up",
                        "see who uses it (ps aux --sort -rss), or start fewer workers"};
  if (*memory.available_bytes < kMemoryNeeded)
    found.fail("memory", trouble);
  else if (*memory.available_bytes < kMemoryWanted)
    found.warn("memory", trouble);
  else
    found.ok("memory", seen);
}

void check_cgroup_memory(const MemoryReading& memory, NodeFindings& found) {
  if (!memory.cgroup_max_bytes || *memory.cgroup_max_bytes == kUnlimited) return;
  const std::int64_t used = memory.cgroup_used_bytes.value_or(0);
  const std::int64_t left = std::max<std::int64_t>(*memory.cgroup_max_bytes - used, 0);
  const std::string seen = fmt::format("the cgroup may use {}, and uses {}",
                                       bytes_text(*memory.cgroup_max_bytes), bytes_text(used));
  const Trouble trouble{seen,
                        "the kernel kills a rank (signal 9) when the cgroup has used up its "
                        "memory, however much the machine has",
                        "ask for more: --mem of Slurm, resources.limits.memory of Kubernetes, "
                        "docker run --memory"};
  if (left < kMemoryNeeded)
    found.fail("cgroup-memory", trouble);
  else if (left < kMemoryWanted)
    found.warn("cgroup-memory", trouble);
  else
    found.ok("cgroup-memory", seen);
}

constexpr char kShmWhy[] =
    "DataLoader workers and NCCL share memory there: they end with \"Bus error\" or \"No space "
    "left on device\"";

void check_shm(const MemoryReading& memory, NodeFindings& found) {
  if (!memory.shm_bytes || !memory.shm_free_bytes) return;
  const std::int64_t size = *memory.shm_bytes, free = *memory.shm_free_bytes;
  const std::string seen =
      fmt::format("/dev/shm has {}, {} of it free", bytes_text(size), bytes_text(free));
  const char* const larger =
      "docker run --shm-size=8g or --ipc=host; an emptyDir with medium: Memory at /dev/shm in "
      "Kubernetes; mount -o remount,size=50% /dev/shm elsewhere";
  if (size < kShmWanted)
    return (free < kShmNeeded) ? found.fail("shm", {seen, kShmWhy, larger})
                               : found.warn("shm", {seen, kShmWhy, larger});
  const char* const remove =
      "see what is left there of jobs that have ended (ls -l /dev/shm), and remove it";
  if (free < kShmNeeded) return found.fail("shm", {seen, kShmWhy, remove});
  if (free < kShmWanted) return found.warn("shm", {seen, kShmWhy, remove});
  found.ok("shm", seen);
}

constexpr double kBusyShare = 0.4;
constexpr std::size_t kBusyNamed = 3;

/// One of many CPUs is left for what a machine does beside a job. Half of them are not.
void check_busy(const CpusReading& cpus, NodeFindings& found) {
  double used = 0;
  std::vector<std::string> names;
  for (const BusyProcess& process : cpus.busy) {
    used += process.cpus;
    if (names.size() < kBusyNamed)
      names.push_back(fmt::format("{} (pid {}, {:.1f})", process.name, process.pid, process.cpus));
  }
  if (cpus.busy.size() > kBusyNamed)
    names.push_back(fmt::format("{} more", cpus.busy.size() - kBusyNamed));
  const std::string seen =
      fmt::format("other processes use {:.1f} of {}", used, counted(*cpus.usable, "CPU"));
  if (used < kBusyShare * *cpus.usable) return found.ok("cpus-busy", seen);
  found.warn("cpus-busy",
             {fmt::format("{}: {}", seen, list_text(names)),
              "the ranks of this node share its CPUs with them, and all other ranks wait for the "
              "slowest one in each step",
              "end what is left of earlier jobs (top, ddprun ls), or leave the node out"});
}

int gpus_of(const NodeReading& node) {
  return node.gpus ? static_cast<int>(node.gpus->gpus.size()) : 0;
}

}  // namespace

Findings check_memory(const NodeReading& node) {
  NodeFindings found{node};
  check_available(node.memory, found);
  check_cgroup_memory(node.memory, found);
  check_shm(node.memory, found);
  if (!node.memory.transparent_huge_pages.empty())
    found.ok("huge-pages", "transparent huge pages: " + node.memory.transparent_huge_pages);
  return found.take();
}

/// Schedulers grant parts of a machine, so few CPUs are no mistake, unless GPUs wait for them.
Findings check_cpus(const NodeReading& node) {
  NodeFindings found{node};
  const CpusReading& cpus = node.cpus;
  if (!cpus.usable) return {};
  std::string seen = fmt::format("{} usable", counted(*cpus.usable, "CPU"));
  if (cpus.online && *cpus.online != *cpus.usable) seen += fmt::format(" of {}", *cpus.online);
  if (cpus.quota) seen += fmt::format(", the cgroup grants the time of {:.1f}", *cpus.quota);
  if (cpus.numa_nodes) seen += ", " + counted(*cpus.numa_nodes, "NUMA node");
  const double granted = std::min<double>(*cpus.usable, cpus.quota.value_or(*cpus.usable));
  if (granted < gpus_of(node))
    found.warn("cpus",
               {fmt::format("{}, for {}", seen, counted(gpus_of(node), "GPU")),
                "each worker needs a CPU of its own, and more to load data: GPUs wait for it",
                "ask for more: --cpus-per-task of Slurm, resources.limits.cpu of Kubernetes, "
                "or the taskset with which this shell was started"});
  else
    found.ok("cpus", seen);
  check_busy(cpus, found);
  return found.take();
}

}  // namespace ddprun
