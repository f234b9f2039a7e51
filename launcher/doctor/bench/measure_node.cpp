#include "launcher/doctor/bench/measure_node.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/process/asked_child.hpp"
#include "launcher/doctor/bench/cpu_speeds.hpp"
#include "launcher/doctor/bench/measurements_json.hpp"
#include "launcher/doctor/bench/memory_teams.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

constexpr auto kNodeTimeout = 20s;

/// Where the kernel does not describe CPUs, those of the affinity mask count as one node.
std::vector<Cpu> own_cpus() {
  const std::vector<int> allowed = allowed_cpus();
  if (const auto topology = read_topology("/", allowed)) return topology->cpus;
  std::vector<Cpu> cpus;
  cpus.reserve(allowed.size());
  for (const int id : allowed) cpus.push_back({.id = id, .core = id});
  return cpus;
}

/// Cores of several kinds: Intel's driver of counters lists the small ones, Arm's kernels tell what
/// each is able to do.
std::string kind_of(int cpu, const std::vector<int>& atoms) {
  if (std::ranges::find(atoms, cpu) != atoms.end()) return "atom";
  return first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity")
      .value_or("");
}

NodeSpeeds measure(const std::string& node, const NodeShare& share) {
  const std::vector<Cpu> cpus = own_cpus();
  std::vector<int> ids;
  ids.reserve(cpus.size());
  for (const Cpu& cpu : cpus) ids.push_back(cpu.id);
  const auto count = static_cast<double>(std::max<std::size_t>(cpus.size(), 1));
  const auto together = static_cast<int>(std::clamp(share.cpu_quota.value_or(count), 1.0, count));
  NodeSpeeds speeds{.node = node};
  speeds.cpus = measure_cpus(ids, together);
  speeds.memory = measure_memory(cpus, together, share.free_bytes);
  const auto atoms = read_cpu_list("/sys/devices/cpu_atom/cpus");
  for (CpuSpeed& speed : speeds.cpus)
    speed.kind = kind_of(speed.cpu, atoms ? *atoms : std::vector<int>{});
  return speeds;
}

}  // namespace

NodeSpeeds measure_node(const std::string& node, const NodeShare& share) {
  auto child = AskedChild::start(kNodeTimeout, [&] { return to_line(measure(node, share)); });
  const auto answer = child.answer();
  auto speeds = answer ? parse_node_speeds(*answer) : Result<NodeSpeeds>{answer.error()};
  if (!speeds) return {.node = node, .error = speeds.error().message};
  return std::move(*speeds);
}

std::string machine_identity() { return line_of("/proc/sys/kernel/random/boot_id"); }

}  // namespace ddprun
