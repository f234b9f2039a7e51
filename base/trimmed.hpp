// A text without the blanks around it. Pure.
#pragma once

#include <string_view>

namespace ddprun {

/// Returns `text` without the characters of `blanks` at its beginning and its end. It is a part of
/// `text`, which must live as long.
inline std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace ddprun
