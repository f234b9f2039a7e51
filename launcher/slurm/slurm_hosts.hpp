// Slurm's lists of hosts, "n[001-003,7],gpu-a[1-2]-ib0", written out as `scontrol show hostnames`
// does (https://slurm.schedmd.com/scontrol.html, "hostnames"). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// More than any machine has; a list is refused rather than all memory taken.
inline constexpr std::size_t kSlurmHostsMax = 65'536;

/// The names in the list's order, numbers padded as they are written there. Errors: kInvalid.
Result<std::vector<std::string>> expand_slurm_hosts(std::string_view list);

}  // namespace ddprun
