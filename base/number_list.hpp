// Lists of numbers as the kernel writes them, "0-3,8,10-11": of CPUs, of ranks. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

inline constexpr int kCpusMax = 8192;  // the kernel's own limit (CONFIG_NR_CPUS)

/// Reads the kernel's "0-3,8,10-11" into ascending CPU numbers; an empty text is an empty list, and
/// a newline may follow. Errors: kInvalid for anything else, and for numbers from kCpusMax on.
/// Format: https://docs.kernel.org/admin-guide/cputopology.html
Result<std::vector<int>> parse_cpu_list(std::string_view text);

/// Reads such a list of numbers that are at most `most`. Errors: kInvalid.
Result<std::vector<int>> parse_number_list(std::string_view text, int most);

/// The other way round: ascending numbers, each once, to "0-3,8,10-11".
std::string format_number_list(const std::vector<int>& numbers);

}  // namespace ddprun
