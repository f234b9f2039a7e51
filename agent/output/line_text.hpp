// What is done to the text of lines before they are shown. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// A line and what ends it: "\n", "\r\n", the "\r" of a progress bar, or "" at the end of the text.
struct LinePiece {
  std::string_view text;
  std::string_view end;
};

/// Returns the first line of `text`, which is not empty.
LinePiece first_line(std::string_view text);

/// `text` with `prefix` before each of its lines; after a carriage return the line begins again.
/// `line_start`: whether its first byte begins a line.
std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start);

/// The lines of `text` that contain one of `filters`, each behind `prefix` and ended.
std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters);

}  // namespace ddprun
