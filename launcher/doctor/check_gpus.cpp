#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/number_text.hpp"
#include "launcher/doctor/checks.hpp"
#include "launcher/doctor/node_findings.hpp"

namespace ddprun {

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
      return found.ok("gpu-users", name + " is used by nobody");
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
    if (*gpu.persistent || !gpu.ecc.value_or(false))
      return found.ok("gpu-persistence", fmt::format("{}: persistence mode is {}", name,
                                                     *gpu.persistent ? "on" : "off"));
    found.warn("gpu-persistence",
               {name + ": persistence mode is off",
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
    if (active == expected)
      found.ok("nvlink", seen);
    else
      found.fail("nvlink",
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
  NodeFindings found{node};
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
