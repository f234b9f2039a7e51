// What the control groups of a process leave it: memory, tasks, CPU time. Of version 1 and 2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/index.html). `root` is "/".
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// The folders of a process's cgroup and of those around it, the innermost first: a limit of each
/// holds for the process. /proc calls that by a number, or "self". `controller` is one of version
/// 1; "": version 2.
std::vector<std::filesystem::path> cgroups_of(const std::filesystem::path& root,
                                              const std::string& process,
                                              std::string_view controller);

/// The limit in a file; nullopt when it sets none. Version 1 has no word for that, but a number
/// that is larger than any memory.
std::optional<std::int64_t> limit_in(const std::filesystem::path& file);

struct CgroupShare {
  std::int64_t max = 0, used = 0;
};

/// The bytes of the cgroup with the least left, of all that are around this process; nullopt when
/// none has a limit. What the kernel can give back, as cached files, does not count as used.
std::optional<CgroupShare> cgroup_memory(const std::filesystem::path& root);

/// The processes and threads, in the same way.
std::optional<CgroupShare> cgroup_tasks(const std::filesystem::path& root);

/// How much CPU time the cgroups around a process leave it.
struct CpuQuota {
  std::optional<double> cpus;  // worth of the lowest quota; nullopt: there is none
  /// How long quotas were used up, on all CPUs and in all cgroups together: this total only grows,
  /// while the greatest one may be an old one of a cgroup that throttles no more. nullopt: the
  /// kernel does not tell.
  std::optional<std::chrono::microseconds> throttled;
};
CpuQuota cpu_quota(const std::filesystem::path& root, const std::string& process = "self");

/// That time in the text of one cpu.stat; nullopt when it has none. Pure.
std::optional<std::chrono::microseconds> throttled_time(const std::string& text);

}  // namespace ddprun
