#include "rendezvous/verdict/json_string.hpp"

#include <charconv>
#include <optional>

namespace ddprun {

namespace {

constexpr std::string_view kEscapedHeader = R"(Traceback (most recent call last):\n)";
constexpr std::size_t kHexDigits = 4;  // the length of a character's number

/// The number of a character behind "\u"; nullopt where it is cut or none.
std::optional<unsigned> character_number(std::string_view digits) {
  unsigned number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, number, 16);
  if (digits.size() != kHexDigits || error != std::errc{} || last != end) return std::nullopt;
  return number;
}

/// Appends the character in UTF-8. A half of a pair, as emojis need one, is a '?': nothing that
/// matters in a traceback is written so.
void append_character(unsigned number, std::string& out) {
  const auto add = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (number >= 0xd800 && number <= 0xdfff) {
    out += '?';
  } else if (number < 0x80) {
    add(number);
  } else if (number < 0x800) {
    add(0xc0 | (number >> 6));
    add(0x80 | (number & 0x3f));
  } else {
    add(0xe0 | (number >> 12));
    add(0x80 | ((number >> 6) & 0x3f));
    add(0x80 | (number & 0x3f));
  }
}

/// Appends what the escape whose letter is at `at` stands for. Returns where it ends.
std::size_t append_escaped(std::string_view text, std::size_t at, std::string& out) {
  const char letter = text[at];
  if (letter == 'u') {
    const auto number = character_number(text.substr(at + 1, kHexDigits));
    if (!number) return at + 1;
    append_character(*number, out);
    return at + 1 + kHexDigits;
  }
  if (letter == 't') out += '\t';
  if (letter == '"' || letter == '\\' || letter == '/') out += letter;
  return at + 1;
}

/// Whether the quotation mark at `at` begins or ends a string: no backslash escapes it.
bool is_bare_quote(std::string_view text, std::size_t at) {
  return text[at] == '"' && (at == 0 || text[at - 1] != '\\');
}

}  // namespace

std::size_t begin_of_logged_traceback(std::string_view line) {
  std::size_t begin = line.find(kEscapedHeader);
  if (begin == std::string_view::npos) return begin;
  while (begin > 0 && !is_bare_quote(line, begin - 1)) --begin;
  return begin;
}

std::vector<StringLine> lines_of_string(std::string_view text) {
  std::vector<StringLine> lines(1);
  for (std::size_t at = 0; at < text.size() && text[at] != '"';) {
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    if (!escape) {
      lines.back().text += text[at++];
    } else if (text[at + 1] == 'n') {
      at += 2;
      lines.push_back({"", at});
    } else {
      at = append_escaped(text, at + 1, lines.back().text);
    }
  }
  return lines;
}

}  // namespace ddprun
