#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

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

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

namespace {

void append_number(std::string& out, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\x").append(1, kDigits[byte / 16]).append(1, kDigits[byte % 16]);
}

bool is_plain_ascii(char c) { return c >= 0x20 && c < 0x7f; }

/// How many bytes the character has that begins with this byte; 0: none begins with it.
std::size_t length_by_lead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

/// Returns how many bytes the character at the beginning of `text` has, which is not empty; 0 when
/// the first byte begins no character of UTF-8 (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const std::size_t length = length_by_lead(static_cast<unsigned char>(text[0]));
  if (length <= 1 || length > text.size()) return length == 1 ? 1 : 0;
  std::uint32_t code = static_cast<unsigned char>(text[0]) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return 0;
    code = (code << 6U) | (byte & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool stays =
        length > 0 && (!is_control(character) || kept.find(character[0]) != std::string_view::npos);
    if (stays)
      out += character;
    else
      for (const char c : character) append_number(out, c);
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view bytes) {
  constexpr std::size_t kShown = 64;
  std::string text = "'";
  for (const char c : bytes.substr(0, kShown)) {
    if (is_plain_ascii(c))
      text += c;
    else
      append_number(text, c);
  }
  text += bytes.size() > kShown ? "…'" : "'";
  return text;
}

std::string plain_line(std::string_view text) { return without_controls(text, "\t"); }

std::string plain_text(std::string_view text) { return without_controls(text, "\t\n"); }

}  // namespace ddprun
