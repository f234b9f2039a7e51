// Texts without the difference of capital and small letters, for tables of patterns. Pure.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace ddprun {

inline std::string lower_case(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Whether `text` has all parts of `pattern`, which are separated by '*', in their order.
inline bool matches(std::string_view text, std::string_view pattern) {
  while (!pattern.empty()) {
    const std::string_view part = pattern.substr(0, pattern.find('*'));
    const std::size_t found = text.find(part);
    if (found == std::string_view::npos) return false;
    text.remove_prefix(found + part.size());
    pattern.remove_prefix(std::min(part.size() + 1, pattern.size()));
  }
  return true;
}

/// Whether `text` matches one of the patterns, which are separated by '|'.
inline bool matches_one(std::string_view text, std::string_view patterns) {
  for (;;) {
    const std::size_t end = patterns.find('|');
    if (matches(text, patterns.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    patterns.remove_prefix(end + 1);
  }
}

}  // namespace ddprun
