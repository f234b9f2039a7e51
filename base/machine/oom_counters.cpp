#include "base/machine/oom_counters.hpp"

#include <algorithm>
#include <optional>

#include "base/machine/cgroups.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

/// What a version of cgroups calls its files; "": version 2.
struct OomFiles {
  const char* controller;
  const char* events;
  const char* limit;
};
constexpr OomFiles kVersions[] = {{"", "memory.events", "memory.max"},
                                  {"memory", "memory.oom_control", "memory.limit_in_bytes"}};

std::optional<std::int64_t> killed_by(const fs::path& events) {
  return number_behind("oom_kill", text_if_any(events));
}

OomCounters own_cgroup(const fs::path& root) {
  for (const OomFiles& files : kVersions) {
    const fs::path folder = cgroups_of(root, "self", files.controller).front();
    if (const auto killed = killed_by(folder / files.events))
      return {.cgroup = *killed, .limit = limit_in(folder / files.limit).value_or(-1)};
  }
  return {};
}

}  // namespace

OomCounters read_oom_counters(const fs::path& root) {
  OomCounters counters = own_cgroup(root);
  counters.system = killed_by(root / "proc/vmstat").value_or(-1);
  return counters;
}

std::int64_t killed_in_cgroup(const OomCounters& before, const OomCounters& after) {
  return before.cgroup < 0 ? 0 : std::max<std::int64_t>(after.cgroup - before.cgroup, 0);
}

}  // namespace ddprun
