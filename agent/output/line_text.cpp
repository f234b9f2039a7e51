#include "agent/output/line_text.hpp"

#include <algorithm>

namespace ddprun {

LinePiece first_line(std::string_view text) {
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return {text, {}};
  const std::size_t end_size = text.compare(end, 2, "\r\n") == 0 ? 2 : 1;
  return {text.substr(0, end), text.substr(end, end_size)};
}

std::string with_prefix(std::string_view text, std::string_view prefix, bool line_start) {
  std::string out;
  out.reserve(text.size() + prefix.size());
  while (!text.empty()) {
    if (line_start) out += prefix;
    const LinePiece line = first_line(text);
    out.append(line.text).append(line.end);
    text.remove_prefix(line.text.size() + line.end.size());
    line_start = true;
  }
  return out;
}

std::string matching_lines(std::string_view text, std::string_view prefix,
                           const std::vector<std::string>& filters) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool matches = std::ranges::any_of(filters, [&](const std::string& filter) {
      return line.find(filter) != std::string_view::npos;
    });
    if (matches) out.append(prefix).append(line).append("\n");
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

}  // namespace ddprun
