// Asks other programs, as those of a scheduler.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Runs the program `words.front()` of the PATH with the other words, and returns what it prints,
/// even if it fails then; "" when it cannot be run. It is killed after 30 s. No more than 1 MiB is
/// read.
std::string output_of(const std::vector<std::string>& words);

}  // namespace ddprun
