// Writes out Slurm's lists of hosts, "n[001-003,7],gpu-a[1-2]-ib0", as `scontrol show hostnames`
// does (https://slurm.schedmd.com/scontrol.html, "hostnames"). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// No machine has more hosts. A longer list is refused, because it could take all memory.
inline constexpr std::size_t kSlurmHostsMax = 65'536;

/// Returns the names in the list's order, with numbers padded as they are in the list. Errors:
/// kInvalid.
Result<std::vector<std::string>> expand_slurm_hosts(std::string_view list);

}  // namespace ddprun
