#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/checks.hpp"
#include "launcher/doctor/check/finding.hpp"

namespace ddprun {

namespace {

/// A CPU that works for less than so much of the time is one that others use. Without others it is
/// 0.97 and more, and a process that never sleeps leaves 0.5.
constexpr double kOwnTimeMin = 0.7;
/// A CPU or a memory below this share of what is usual is slow. On a virtual machine, neighbors on
/// its host take a third of a core's speed, and a quarter of the memory's bandwidth.
constexpr double kCpuSpeedMin = 0.5;
constexpr double kMemorySpeedMin = 0.5;

double own_time(const CpuSpeed& cpu) {
  return cpu.wall_ms > 0 ? std::min(cpu.cpu_ms / cpu.wall_ms, 1.0) : 1.0;
}

/// What it does in its time for us, no matter what the rest is used for.
double speed(const CpuSpeed& cpu) { return cpu.cpu_ms > 0 ? 1 / cpu.cpu_ms : 0; }

std::vector<double> speeds_of(const NodeSpeeds& node, const std::string& kind) {
  std::vector<double> speeds;
  for (const CpuSpeed& cpu : node.cpus)
    if (cpu.kind == kind) speeds.push_back(speed(cpu));
  return speeds;
}

/// The median of a node's CPUs of the kind that its first one has.
double usual_speed(const NodeSpeeds& node) {
  return node.cpus.empty() ? 0 : median(speeds_of(node, node.cpus.front().kind));
}

std::string cpus_text(std::vector<int> cpus) {
  std::ranges::sort(cpus);
  return (cpus.size() == 1 ? "CPU " : "CPUs ") + format_number_list(cpus);
}

/// Only what was measured with as many threads and as much memory can be compared.
using MemoryTeam = std::pair<int, std::int64_t>;

MemoryTeam team_of(const MemorySpeed& memory) { return {memory.threads, memory.bytes}; }

/// CPUs or NUMA nodes with what is wrong about them, and the worst figure among them.
struct Bad {
  std::vector<int> numbers;
  double worst = 1;

  void add(int number, double share) {
    numbers.push_back(number);
    worst = std::min(worst, share);
  }
};

class NodeSpeedChecks {
 public:
  explicit NodeSpeedChecks(const std::vector<NodeSpeeds>& nodes) {
    std::vector<double> cpu_speeds;
    std::map<MemoryTeam, std::vector<double>> memory_speeds;
    for (const NodeSpeeds& node : nodes) {
      if (!node.cpus.empty()) cpu_speeds.push_back(usual_speed(node));
      for (const MemorySpeed& memory : node.memory)
        memory_speeds[team_of(memory)].push_back(memory.gb_per_s);
    }
    usual_cpu_ = median(std::move(cpu_speeds));
    for (auto& [team, speeds] : memory_speeds) usual_memory_[team] = median(std::move(speeds));
  }

  Findings check(const NodeSpeeds& node) const {
    NodeFindings found{node.node};
    if (!node.error.empty()) {
      found.warn("bench", {"CPUs and memory could not be measured: " + node.error,
                           "whether this node is as fast as the others is unknown",
                           "run ddprun doctor --bench on that node"});
      return found.take();
    }
    const bool taken = check_own_time(node, found);
    const bool slow = check_node_speed(node, found) || check_cpu_speeds(node, found);
    if (!node.cpus.empty() && !taken && !slow) praise_cpus(node, found);
    check_memory_speed(node, taken, found);
    return found.take();
  }

 private:
  /// Returns whether others take the time of CPUs.
  static bool check_own_time(const NodeSpeeds& node, NodeFindings& found) {
    Bad taken;
    for (const CpuSpeed& cpu : node.cpus)
      if (const double own = own_time(cpu); own < kOwnTimeMin) taken.add(cpu.cpu, own);
    if (taken.numbers.empty()) return false;
    found.warn(
        "cpu-time",
        {fmt::format("{}: only {:.0f} % of the time is there for a job{}", cpus_text(taken.numbers),
                     taken.worst * 100, taken.numbers.size() > 1 ? " on the worst of them" : ""),
         "another process takes the rest, or a cgroup's quota does; workers that wait for "
         "a CPU keep all ranks waiting",
         "top and ps -eo pid,psr,pcpu,args --sort=-pcpu show who uses a CPU; cpu.max and "
         "cpu.stat of the cgroup show a quota; the host of a virtual machine may be full "
         "(\"st\" in top)"});
    return true;
  }

  bool check_node_speed(const NodeSpeeds& node, NodeFindings& found) const {
    const double share = usual_cpu_ > 0 ? usual_speed(node) / usual_cpu_ : 1;
    if (node.cpus.empty() || share >= kCpuSpeedMin) return false;
    found.warn("cpu-speed",
               {fmt::format("its CPUs compute at {:.0f} % of the median of all nodes", share * 100),
                kWhySlow, kAdviceSlow});
    return true;
  }

  static bool check_cpu_speeds(const NodeSpeeds& node, NodeFindings& found) {
    Bad slow;
    for (const CpuSpeed& cpu : node.cpus) {
      const double usual = median(speeds_of(node, cpu.kind));
      if (usual > 0 && speed(cpu) < kCpuSpeedMin * usual) slow.add(cpu.cpu, speed(cpu) / usual);
    }
    if (slow.numbers.empty()) return false;
    found.warn("cpu-speed", {fmt::format("{}: {:.0f} % of the speed of this node's other CPUs",
                                         cpus_text(slow.numbers), slow.worst * 100),
                             kWhySlow, kAdviceSlow});
    return true;
  }

  static void praise_cpus(const NodeSpeeds& node, NodeFindings& found) {
    double least_own = 1, slowest = 1;
    for (const CpuSpeed& cpu : node.cpus) {
      least_own = std::min(least_own, own_time(cpu));
      if (const double usual = median(speeds_of(node, cpu.kind)); usual > 0)
        slowest = std::min(slowest, speed(cpu) / usual);
    }
    found.ok("cpu-speed",
             fmt::format("{}, the slowest at {:.0f} % of the median, each free for {:.0f} % of the "
                         "time or more",
                         counted(static_cast<std::int64_t>(node.cpus.size()), "CPU"), slowest * 100,
                         least_own * 100));
  }

  /// Where others take the CPUs, memory cannot be judged.
  void check_memory_speed(const NodeSpeeds& node, bool taken, NodeFindings& found) const {
    Bad slow;
    double worst = 1, least = 0, usual = 0;
    for (const MemorySpeed& memory : node.memory) {
      const double share = memory.gb_per_s / usual_memory_.at(team_of(memory));
      if (share < kMemorySpeedMin) slow.add(memory.numa_node, share);
      if (usual > 0 && share >= worst) continue;
      worst = share;
      least = memory.gb_per_s;
      usual = usual_memory_.at(team_of(memory));
    }
    if (node.memory.empty() || (taken && !slow.numbers.empty())) return;
    if (slow.numbers.empty())
      return found.ok("memory-bandwidth",
                      fmt::format("{:.1f} GB/s in the slowest NUMA node, {:.0f} % of the median",
                                  least, worst * 100));
    std::ranges::sort(slow.numbers);
    const std::string where = slow.numbers.size() < node.memory.size()
                                  ? "NUMA node " + format_number_list(slow.numbers) + ": "
                                  : "";
    found.warn("memory-bandwidth",
               {fmt::format("{}{:.0f} % of the median's memory bandwidth ({:.1f} GB/s of {:.1f})",
                            where, worst * 100, least, usual),
                "loading and preparing data takes longer there, and all ranks wait for it",
                "look for processes that use the memory, for memory modules that are missing or "
                "broken (dmidecode -t memory, edac-util), and for other settings of the firmware"});
  }

  static constexpr char kWhySlow[] = "all ranks wait for the slowest one in each step";
  static constexpr char kAdviceSlow[] =
      "look for heat and power limits (dmesg, turbostat), and compare cpupower frequency-info and "
      "the settings of the firmware with another node";

  double usual_cpu_ = 0;                       // the speed of a node
  std::map<MemoryTeam, double> usual_memory_;  // the speed of a NUMA node
};

}  // namespace

Findings check_speeds(const std::vector<NodeSpeeds>& nodes) {
  const NodeSpeedChecks checks{nodes};
  Findings all;
  for (const NodeSpeeds& node : nodes) append(checks.check(node), all);
  return all;
}

std::vector<std::size_t> doubtful_nodes(const std::vector<NodeSpeeds>& nodes) {
  const NodeSpeedChecks checks{nodes};
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (std::ranges::any_of(checks.check(nodes[i]), [](const Finding& finding) {
          return finding.severity != Severity::kOk;
        }))
      doubtful.push_back(i);
  return doubtful;
}

}  // namespace ddprun
