// Tells how many CPUs this process may really use.
#pragma once

#include <optional>
#include <string_view>

namespace ddprun {

/// The number of CPUs in the affinity mask, less what the cgroup's quota takes away; at least 1.
int usable_cpus();

/// The number of whole CPUs that a cgroup v2 `cpu.max` ("200000 100000", "max 100000") allows, at
/// least 1; nullopt when it sets no limit. Format:
/// https://docs.kernel.org/admin-guide/cgroup-v2.html
std::optional<int> cpu_quota(std::string_view cpu_max);

}  // namespace ddprun
