// What the control groups of this process leave it: memory, tasks, CPU time. Of version 1 and 2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html, cgroup-v1/index.html). `root` is "/".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace ddprun {

/// The folders of this process's cgroup and of those around it, the innermost first: a limit of
/// each holds for this process. `controller` is one of version 1; "": version 2.
std::vector<std::filesystem::path> own_cgroups(const std::filesystem::path& root,
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

/// How many CPUs the lowest quota of CPU time is worth; nullopt when there is none.
std::optional<double> cgroup_cpus(const std::filesystem::path& root);

}  // namespace ddprun
