// Quotes words for a shell. Pure.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Quotes `text` where needed, so that a POSIX shell takes it for one word.
std::string shell_word(const std::string& text);
/// Quotes each of `words` so, and puts a blank between them.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace ddprun
