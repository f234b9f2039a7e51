#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/number_text.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

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
  found.add(severity_of(*memory.available_bytes, kMemoryNeeded, kMemoryWanted), "memory",
            {seen,
             "torch alone takes about 0.5 GiB in each worker: the kernel kills a rank (signal 9) "
             "when memory is used up",
             "see who uses it (ps aux --sort -rss), or start fewer workers"});
}

void check_cgroup_memory(const MemoryReading& memory, NodeFindings& found) {
  if (!memory.cgroup_max_bytes || *memory.cgroup_max_bytes == kUnlimited) return;
  const std::int64_t used = memory.cgroup_used_bytes.value_or(0);
  const std::int64_t left = std::max<std::int64_t>(*memory.cgroup_max_bytes - used, 0);
  const std::string seen = fmt::format("the cgroup may use {}, and uses {}",
                                       bytes_text(*memory.cgroup_max_bytes), bytes_text(used));
  found.add(severity_of(left, kMemoryNeeded, kMemoryWanted), "cgroup-memory",
            {seen,
             "the kernel kills a rank (signal 9) when the cgroup has used up its memory, however "
             "much the machine has",
             "ask for more: --mem of Slurm, resources.limits.memory of Kubernetes, docker run "
             "--memory"});
}

void check_shm(const MemoryReading& memory, NodeFindings& found) {
  if (!memory.shm_bytes || !memory.shm_free_bytes) return;
  const std::int64_t size = *memory.shm_bytes, free = *memory.shm_free_bytes;
  const std::string seen =
      fmt::format("/dev/shm has {}, {} of it free", bytes_text(size), bytes_text(free));
  const bool small = size < kShmWanted;
  found.add(severity_of(small ? std::min(size, free) : free, kShmNeeded, kShmWanted), "shm",
            {seen,
             "DataLoader workers and NCCL share memory there: they end with \"Bus error\" or \"No "
             "space left on device\"",
             small ? "docker run --shm-size=8g or --ipc=host; an emptyDir with medium: Memory at "
                     "/dev/shm in Kubernetes; mount -o remount,size=50% /dev/shm elsewhere"
                   : "see what is left there of jobs that have ended (ls -l /dev/shm), and remove "
                     "it"});
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
  const bool busy = used >= kBusyShare * *cpus.usable;
  found.add(warning_if(busy), "cpus-busy",
            {!busy ? seen : fmt::format("{}: {}", seen, list_text(names)),
             "the ranks of this node share its CPUs with them, and all other ranks wait for the "
             "slowest one in each step",
             "end what is left of earlier jobs (top, ddprun ls), or leave the node out"});
}

}  // namespace

Findings check_memory(const NodeReading& node) {
  NodeFindings found{node.node};
  check_available(node.memory, found);
  check_cgroup_memory(node.memory, found);
  check_shm(node.memory, found);
  if (!node.memory.transparent_huge_pages.empty())
    found.ok("huge-pages", "transparent huge pages: " + node.memory.transparent_huge_pages);
  return found.take();
}

/// Schedulers grant parts of a machine, so few CPUs are no mistake, unless GPUs wait for them.
Findings check_cpus(const NodeReading& node) {
  NodeFindings found{node.node};
  const CpusReading& cpus = node.cpus;
  if (!cpus.usable) return {};
  std::string seen = fmt::format("{} usable", counted(*cpus.usable, "CPU"));
  if (cpus.online && *cpus.online != *cpus.usable) seen += fmt::format(" of {}", *cpus.online);
  if (cpus.quota) seen += fmt::format(", the cgroup grants the time of {:.1f}", *cpus.quota);
  if (cpus.numa_nodes) seen += ", " + counted(*cpus.numa_nodes, "NUMA node");
  const double granted = std::min<double>(*cpus.usable, cpus.quota.value_or(*cpus.usable));
  const int gpus = node.gpus ? static_cast<int>(node.gpus->gpus.size()) : 0;
  const bool too_few = granted < gpus;
  if (too_few) seen += ", for " + counted(gpus, "GPU");
  found.add(warning_if(too_few), "cpus",
            {seen, "each worker needs a CPU of its own, and more to load data: GPUs wait for it",
             "ask for more: --cpus-per-task of Slurm, resources.limits.cpu of Kubernetes, or the "
             "taskset with which this shell was started"});
  check_busy(cpus, found);
  return found.take();
}

namespace {

/// A reading of another host may say anything. A sum of these has its place in a number.
constexpr std::int64_t kProcessBytesMax = std::int64_t{1} << 50;

struct GpuCheck {
  const GpuReading& gpu;
  NodeFindings& found;
  std::string name = fmt::format("GPU{}", gpu.index);

  void look_at_memory() const {
    if (gpu.repair_failed.value_or(false))
      return found.fail("gpu-memory", {name + " has no spare rows left for broken memory",
                                       "its next memory error ends the job, and repeats",
                                       "take the node out of service: this GPU is to be replaced"});
    if (gpu.uncorrected_errors.value_or(0) > 0)
      return found.fail(
          "gpu-memory",
          {fmt::format("{} had {} in its memory", name,
                       counted(*gpu.uncorrected_errors, "uncorrectable error")),
           "workers on it end with \"CUDA error: uncorrectable ECC error\"",
           fmt::format("reset it (nvidia-smi --gpu-reset -i {}) or start the node again; if it "
                       "comes back, replace the GPU",
                       gpu.index)});
    if (gpu.repair_pending.value_or(false))
      return found.warn(
          "gpu-memory",
          {name + " has broken memory that a reset will replace by spare rows",
           "until then, the same errors may happen again",
           fmt::format("reset it (nvidia-smi --gpu-reset -i {}) or start the node again",
                       gpu.index)});
    if (gpu.ecc || gpu.uncorrected_errors)
      found.ok("gpu-memory", name + " has no uncorrectable memory errors");
  }

  void look_at_clocks() const {
    if (gpu.throttled.empty()) return found.ok("gpu-clocks", name + " is not slowed down");
    const std::string heat = gpu.celsius ? fmt::format(", {} °C", *gpu.celsius) : "";
    found.warn("gpu-clocks",
               {fmt::format("{} is slowed down: {}{}", name, list_text(gpu.throttled), heat),
                "all other ranks wait for the slowest one in each step",
                "look at fans, air and power supply: nvidia-smi -q -d PERFORMANCE,TEMPERATURE,"
                "POWER"});
  }

  void look_at_users() const {
    std::vector<std::string> users;
    std::int64_t bytes = 0;
    for (const GpuProcess& process : gpu.processes) {
      users.push_back(user_text(process));
      bytes += std::min(process.bytes, kProcessBytesMax);
    }
    const std::int64_t used = std::max(bytes, gpu.used_bytes.value_or(0));
    if (users.empty() && used < kDriverBytesMax)
      return found.ok("gpu-users", "no process uses " + name);
    const std::string by = users.empty() ? kUnseenUser : list_text(users);
    found.warn("gpu-users",
               {fmt::format("{} of {} are in use, by {}", bytes_text(used), name, by),
                "the job gets what is left of its memory and its time: \"CUDA out of memory\"",
                "end what is left of earlier jobs (nvidia-smi, ddprun ls), or leave this GPU out: "
                "CUDA_VISIBLE_DEVICES"});
  }

  /// GPUs of data centers alone have ECC. On others, persistence is a matter of taste.
  void look_at_persistence() const {
    if (!gpu.persistent) return;
    const bool missed = !*gpu.persistent && gpu.ecc.value_or(false);
    found.add(warning_if(missed), "gpu-persistence",
              {fmt::format("{}: persistence mode is {}", name, *gpu.persistent ? "on" : "off"),
               "the driver is loaded again for each job, which takes seconds, and forgets its "
               "counts of errors",
               "start nvidia-persistenced, or nvidia-smi --persistence-mode=1"});
  }
};

/// A GPU of a pair may have fewer NVLinks than one of another model, so models are compared alone.
/// A GPU without any is not judged, unless it should hang on the switches of the others.
void check_nvlinks(const std::vector<GpuReading>& gpus, NodeFindings& found) {
  std::map<std::string, int> most;
  std::map<std::string, bool> switched;
  for (const GpuReading& gpu : gpus) {
    int& links = most[gpu.model];
    links = std::max(links, gpu.nvlinks_active.value_or(0));
    switched[gpu.model] = switched[gpu.model] || gpu.nvswitch;
  }
  for (const GpuReading& gpu : gpus) {
    const int expected = most[gpu.model];
    const int active = gpu.nvlinks_active.value_or(0);
    if (expected == 0 || (active == 0 && !switched[gpu.model])) continue;
    const std::string seen = fmt::format("GPU{}: {} of {} NVLinks are up", gpu.index, active,
                                         std::max(expected, gpu.nvlinks.value_or(0)));
    found.add(active == expected ? Severity::kOk : Severity::kFailed, "nvlink",
              {seen, "NCCL goes over PCIe or the network instead, or fails to start",
               "nvidia-smi nvlink --status shows which; with NVSwitches, look at the service "
               "nvidia-fabricmanager; reset the GPUs or start the node again"});
  }
}

/// A container or a scheduler may leave some GPUs of the bus to others, so the device files count.
void check_driver(const GpusReading& gpus, NodeFindings& found) {
  const int there = static_cast<int>(gpus.gpus.size());
  if (gpus.present.value_or(there) == 0)
    return found.warn(
        "gpu-driver",
        {fmt::format("the PCI bus has {}, and no device file leads to one",
                     counted(gpus.on_bus.value_or(0), "NVIDIA GPU")),
         "torch finds no GPU",
         "install NVIDIA's driver; in a container, use --gpus all; in Slurm, ask for --gres=gpu"});
  if (!gpus.error.empty())
    return found.fail(
        "gpu-driver",
        {fmt::format("NVIDIA's driver told nothing of {}: {}",
                     gpus.present ? counted(*gpus.present, "GPU") : "its GPUs", gpus.error),
         "torch finds no GPU",
         "nvidia-smi shows whether the driver runs; after an update of the driver, start the node "
         "again; in a container, use --gpus all"});
  if (gpus.present && there < *gpus.present)
    return found.fail("gpu-driver",
                      {fmt::format("the driver has {} of {}", there, counted(*gpus.present, "GPU")),
                       "a worker for each GPU will not find its own",
                       "dmesg | grep NVRM shows why (such as Xid 79, \"fallen off the bus\"); "
                       "start the node again"});
  found.ok("gpu-driver",
           fmt::format("{}, driver {}, CUDA {}", counted(there, "GPU"), gpus.driver, gpus.cuda));
}

}  // namespace

Findings check_gpus(const NodeReading& node) {
  if (!node.gpus) return {};
  NodeFindings found{node.node};
  check_driver(*node.gpus, found);
  for (const GpuReading& gpu : node.gpus->gpus) {
    const GpuCheck check{gpu, found};
    check.look_at_memory();
    check.look_at_clocks();
    check.look_at_users();
    check.look_at_persistence();
  }
  check_nvlinks(node.gpus->gpus, found);
  return found.take();
}

}  // namespace ddprun
