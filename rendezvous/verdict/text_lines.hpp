// The output of a worker as lines that a parser can look at. Pure.
#pragma once

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

}  // namespace ddprun
