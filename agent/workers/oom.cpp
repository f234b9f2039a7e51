#include "agent/workers/oom.hpp"

#include <fstream>
#include <sstream>

namespace ddprun {

namespace {

namespace fs = std::filesystem;

std::int64_t counter(const fs::path& path) {
  std::ifstream file{path};
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return -1;
}

/// The counter of the own cgroup, from the folder of its memory controller, v2 or v1; -1: not
/// known.
std::int64_t own_cgroup(const fs::path& proc, const fs::path& cgroups) {
  std::ifstream membership{proc / "self/cgroup"};
  for (std::string line; std::getline(membership, line);) {
    std::istringstream fields{line};
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (path.starts_with('/')) path.erase(0, 1);
    const bool v1 = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!v1 && !controllers.empty()) continue;
    const std::int64_t value = v1 ? counter(cgroups / "memory" / path / "memory.oom_control")
                                  : counter(cgroups / path / "memory.events");
    if (value >= 0) return value;
  }
  return -1;
}

}  // namespace

OomCounters read_oom_counters(const fs::path& proc, const fs::path& cgroups) {
  return {own_cgroup(proc, cgroups), counter(proc / "vmstat")};
}

std::string oom_evidence(const OomCounters& before, const OomCounters& after) {
  if (before.cgroup >= 0 && after.cgroup > before.cgroup)
    return "out of memory: the kernel killed " + std::to_string(after.cgroup - before.cgroup) +
           " process(es) of this job's cgroup meanwhile, which was at its memory limit";
  if (before.system >= 0 && after.system > before.system)
    return "probably out of memory: the kernel killed " +
           std::to_string(after.system - before.system) +
           " process(es) of this machine meanwhile for want of memory";
  return "";
}

}  // namespace ddprun
