// The output of a worker as lines that a parser can look at. Pure.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// A line without its end, without colours and other orders to a terminal (ECMA-48), and without
/// what a carriage return has overwritten. A traceback in a JSON string is as many lines as it was
/// before a logger made one of it.
struct TextLine {
  std::string text;
  std::size_t offset = 0;  // where its first byte is in the whole text
  bool in_string = false;  // it was in such a string
};

/// Longer lines are cut to this many bytes.
inline constexpr std::size_t kTextLineBytesMax = 2000;

std::vector<TextLine> text_lines(std::string_view text);

/// How many blanks and tabs a line begins with.
std::size_t indentation(std::string_view line);
/// The text without blanks, tabs and carriage returns at either end.
std::string_view trimmed(std::string_view text);
/// What is left of `text` behind `beginning`; nullopt when it does not begin so.
std::optional<std::string_view> after(std::string_view text, std::string_view beginning);
/// What is behind the first `part` in it; nullopt when it is not there. A view into `text`.
std::optional<std::string_view> behind(std::string_view text, std::string_view part);
/// What is between the first `from` and the next `to`; nullopt when one is not there.
std::optional<std::string_view> between(std::string_view text, std::string_view from,
                                        std::string_view to);
bool has(std::string_view text, std::string_view part);
bool has_any(std::string_view text, std::initializer_list<std::string_view> parts);

/// Whether ddprun, torch and the libraries below it write such a line also when all is well, or
/// behind any failure: it says nothing about how a program ended.
bool is_noise(std::string_view line);

// Texts without the difference of capital and small letters, for tables of patterns.

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
