#include "agent/workers/oom.hpp"

#include <sstream>

#include "base/bytes_text.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

std::int64_t counter(const fs::path& path) {
  std::istringstream file{text_if_any(path)};
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return -1;
}

/// A limit of v2 may be "max", and one of v1 more than any machine has.
std::int64_t limit_in(const fs::path& path) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  std::istringstream file{text_if_any(path)};
  std::int64_t bytes = -1;
  return file >> bytes && bytes < kNoLimit ? bytes : -1;
}

/// What the folder of the own cgroup's memory controller says, v2 or v1.
OomCounters own_cgroup(const fs::path& proc, const fs::path& cgroups) {
  std::istringstream membership{text_if_any(proc / "self/cgroup")};
  for (std::string line; std::getline(membership, line);) {
    std::istringstream fields{line};
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (path.starts_with('/')) path.erase(0, 1);
    const bool v1 = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!v1 && !controllers.empty()) continue;
    const fs::path folder = v1 ? cgroups / "memory" / path : cgroups / path;
    const std::int64_t killed = counter(folder / (v1 ? "memory.oom_control" : "memory.events"));
    const std::int64_t limit = limit_in(folder / (v1 ? "memory.limit_in_bytes" : "memory.max"));
    if (killed >= 0) return {.cgroup = killed, .limit = limit};
  }
  return {};
}

}  // namespace

OomCounters read_oom_counters(const fs::path& proc, const fs::path& cgroups) {
  OomCounters counters = own_cgroup(proc, cgroups);
  counters.system = counter(proc / "vmstat");
  return counters;
}

std::string oom_evidence(const OomCounters& before, const OomCounters& after) {
  if (before.cgroup >= 0 && after.cgroup > before.cgroup)
    return "out of memory: the kernel killed " + std::to_string(after.cgroup - before.cgroup) +
           " process(es) of this job's cgroup meanwhile, which was at its memory limit" +
           (after.limit > 0 ? " of " + bytes_text(after.limit) : "");
  if (before.system >= 0 && after.system > before.system)
    return "probably out of memory: the kernel killed " +
           std::to_string(after.system - before.system) +
           " process(es) of this machine meanwhile for want of memory";
  return "";
}

}  // namespace ddprun
