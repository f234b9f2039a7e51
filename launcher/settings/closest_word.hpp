// Finds the word that somebody has meant who has mistyped it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// Returns the candidate that differs from `word` by the fewest letters that are missing, too many,
/// wrong or swapped with their neighbour: by two at most, and by less than half of the word. "":
/// none does.
std::string_view closest_word(std::string_view word,
                              const std::vector<std::string_view>& candidates);

}  // namespace ddprun
