// What is done to the text of lines before they are shown. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// `text` with `prefix` before each of its lines; a carriage return begins the line anew.
/// `line_start`: whether its first byte begins a line.
std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start);

/// The lines of `text` that contain one of `filters`, each behind `prefix` and ended.
std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters);

}  // namespace ddprun
