// The lists of CPUs that the kernel writes, "0-3,8,10-11". Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/number_list.hpp"
#include "base/result.hpp"

namespace ddprun {

inline constexpr int kCpusMax = 8192;  // the kernel's own limit (CONFIG_NR_CPUS)

/// Reads the kernel's "0-3,8,10-11" into ascending CPU numbers; an empty text is an empty list, and
/// a newline may follow. Errors: kInvalid for anything else, and for numbers from kCpusMax on.
/// Format: https://docs.kernel.org/admin-guide/cputopology.html
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace ddprun
