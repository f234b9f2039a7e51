// Lists of numbers as the kernel writes them, "0-3,8,10-11": of CPUs, of ranks. Pure.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Writes ascending numbers, each once, as "0-3,8,10-11".
std::string format_number_list(const std::vector<int>& numbers);

}  // namespace ddprun
