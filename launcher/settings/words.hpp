// Words: which one was meant by somebody who has mistyped it, and how they are quoted for a
// shell. Pure.
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

/// Quotes `text` where needed, so that a POSIX shell takes it for one word.
std::string shell_word(const std::string& text);
/// Quotes each of `words` so, and puts a blank between them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace ddprun
