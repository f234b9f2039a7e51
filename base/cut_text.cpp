#include "base/cut_text.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kCut = "…";
constexpr char kEscape = '\x1b';

/// Tells where a character begins that takes a column.
class Columns {
 public:
  bool takes_one(char c) {
    if (c == kEscape) in_color_ = true;
    const bool counts = !in_color_ && !continues_character(c);
    if (in_color_ && c == 'm') in_color_ = false;
    return counts;
  }

 private:
  bool in_color_ = false;
};

}  // namespace

std::string cut(std::string_view text, const TextLimit& limit) {
  if (text.size() <= limit.bytes) return std::string{text};
  const std::size_t kept = limit.bytes - std::min(limit.bytes, kCut.size());
  if (limit.keep == TextLimit::Keep::kBeginning)
    return std::string{text.substr(0, begin_of_character(text, kept))}.append(kCut);
  return std::string{kCut}.append(text.substr(end_of_character(text, text.size() - kept)));
}

std::size_t columns_of(std::string_view text) {
  Columns columns;
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [&](char c) { return columns.takes_one(c); }));
}

std::string cut_columns(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string{text};
  std::string out;
  Columns seen;
  std::size_t used = 0;
  for (const char c : text) {
    if (seen.takes_one(c) && ++used >= columns) break;  // "…" takes one
    out += c;
  }
  if (columns > 0) out += kCut;
  return out.find(kEscape) == std::string::npos ? out : out + "\x1b[0m";
}

std::string cut_lines(std::string_view text, int columns) {
  if (columns <= 0) return std::string{text};
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out += cut_columns(line, static_cast<std::size_t>(columns));
    if (line.size() < text.size()) out += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return out;
}

}  // namespace ddprun
