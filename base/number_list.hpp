// Lists of numbers as the kernel writes them, "0-3,8,10-11": of CPUs, of ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

/// Reads "0-3,8,10-11" into ascending numbers, each once; an empty text is an empty list. Errors:
/// kInvalid for anything else, and for numbers from `limit` on.
Result<std::vector<int>> parse_number_list(std::string_view text, int limit);

/// The other way round: ascending numbers, each once, to "0-3,8,10-11".
std::string format_number_list(const std::vector<int>& numbers);

}  // namespace ddprun
