#include "base/machine/machine_topology.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/machine/cgroups.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/numbers.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

Result<std::map<int, int>> node_of_each_cpu(const fs::path& folder) {
  std::map<int, int> nodes;
  for (const std::string& name : names_in(folder)) {
    const auto node = number_after("node", name);
    if (!node) continue;
    const auto cpus = read_cpu_list(folder / name / "cpulist");
    if (!cpus) return cpus.error();
    for (const int cpu : *cpus) nodes[cpu] = *node;
  }
  return nodes;
}

/// The lowest CPU of those that share `cpu`'s last-level cache; nullopt when nothing is known.
Result<std::optional<int>> cache_group(const fs::path& folder) {
  int last_level = 0;
  std::optional<int> group;
  for (const std::string& name : names_in(folder)) {
    if (!number_after("index", name)) continue;
    const auto level = read_number(folder / name / "level");
    if (!level) return level.error();
    if (*level <= last_level) continue;
    const auto sharers = read_cpu_list(folder / name / "shared_cpu_list");
    if (!sharers) return sharers.error();
    if (sharers->empty()) continue;
    last_level = *level;
    group = sharers->front();
  }
  return group;
}

/// Reads CPU after CPU, by ascending id. Cores and cache groups are named after their lowest CPU.
class CpuReader {
 public:
  CpuReader(fs::path folder, std::map<int, int> nodes)
      : folder_{std::move(folder)}, nodes_{std::move(nodes)} {}

  Result<Cpu> read(int id) {
    const fs::path described = folder_ / ("cpu" + std::to_string(id));
    const auto package = read_number(described / "topology/physical_package_id");
    if (!package) return package.error();
    const auto core = core_of(id, *package, described / "topology");
    if (!core) return core.error();
    const auto cache = cache_group(described / "cache");
    if (!cache) return cache.error();
    const int first_of_package = first_of_package_.try_emplace(*package, id).first->second;
    const auto node = nodes_.find(id);
    return Cpu{.id = id,
               .core = *core,
               .package = *package,
               .numa_node = node == nodes_.end() ? 0 : node->second,
               .cache = cache->value_or(first_of_package)};
  }

 private:
  /// A core_id may come again in another die or cluster of the package, so the list of the core's
  /// CPUs, which kernels tell since 5.3, is asked first.
  Result<int> core_of(int id, int package, const fs::path& topology) {
    if (is_there(topology / "core_cpus_list")) {
      const auto siblings = read_cpu_list(topology / "core_cpus_list");
      if (!siblings) return siblings.error();
      return siblings->empty() ? id : siblings->front();
    }
    const auto core = read_number(topology / "core_id");
    if (!core) return core.error();
    return first_of_core_.try_emplace({package, *core}, id).first->second;
  }

  fs::path folder_;
  std::map<int, int> nodes_;
  std::map<int, int> first_of_package_;
  std::map<std::pair<int, int>, int> first_of_core_;
};

/// Returns the CPUs of `allowed` that are online, ascending; all when the kernel does not tell.
Result<std::vector<int>> online_among(std::vector<int> allowed, const fs::path& folder) {
  std::ranges::sort(allowed);
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  if (!is_there(folder / "online")) return allowed;
  const auto online = read_cpu_list(folder / "online");
  if (!online) return online.error();
  std::erase_if(allowed, [&](int cpu) { return !std::ranges::binary_search(*online, cpu); });
  return allowed;
}

}  // namespace

std::vector<int> allowed_cpus(pid_t process) {
  std::vector<cpu_set_t> mask(kCpusMax / CPU_SETSIZE);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  std::vector<int> cpus;
  if (sched_getaffinity(process, bytes, mask.data()) != 0) return cpus;
  for (int cpu = 0; cpu < kCpusMax; ++cpu)
    if (CPU_ISSET_S(cpu, bytes, mask.data())) cpus.push_back(cpu);
  return cpus;
}

std::vector<int> online_cpus(const fs::path& root) {
  const fs::path folder = root / "sys/devices/system/cpu";
  if (auto online = read_cpu_list(folder / "online")) return *std::move(online);
  std::vector<int> cpus;
  for (const std::string& name : names_in(folder))
    if (const auto id = number_after("cpu", name)) cpus.push_back(*id);
  std::ranges::sort(cpus);
  return cpus;
}

int usable_cpus(const fs::path& root) {
  const int cpus = std::max(1, static_cast<int>(allowed_cpus().size()));
  const double granted = cpu_quota(root).cpus.value_or(cpus);
  return std::clamp(static_cast<int>(std::min<double>(granted, cpus)), 1, cpus);
}

Result<CpuTopology> read_topology(const fs::path& root, const std::vector<int>& allowed) {
  const fs::path folder = root / "sys/devices/system/cpu";
  const auto ids = online_among(allowed, folder);
  if (!ids) return ids.error();
  if (ids->empty()) return Error{Error::Kind::kUnavailable, "no allowed CPU is online"};
  auto nodes = node_of_each_cpu(root / "sys/devices/system/node");
  if (!nodes) return nodes.error();
  CpuReader reader{folder, *std::move(nodes)};
  CpuTopology topology;
  for (const int id : *ids) {
    const auto cpu = reader.read(id);
    if (!cpu) return cpu.error();
    topology.cpus.push_back(*cpu);
  }
  return topology;
}

}  // namespace ddprun
