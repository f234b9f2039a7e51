#include "rendezvous/verdict/json_string.hpp"

#include <algorithm>

#include "base/json/json_text.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kEscapedHeader = R"(Traceback (most recent call last):\n)";
constexpr std::size_t kEscapeBytesMax = 12;  // \ud83d\ude00

/// Whether the quotation mark at `at` begins or ends a string: no backslash escapes it.
bool is_bare_quote(std::string_view text, std::size_t at) {
  return text[at] == '"' && (at == 0 || text[at - 1] != '\\');
}

/// What a piece of a string stands for. A piece that was cut within an escape is read without it,
/// and one that is no JSON as it is.
std::string unescaped(std::string_view piece) {
  const std::size_t cut_max = std::min(kEscapeBytesMax, piece.size());
  for (std::size_t cut = 0; cut <= cut_max; ++cut) {
    const std::string string = '"' + std::string{piece.substr(0, piece.size() - cut)} + '"';
    const ParsedJson value = json_or_null(string);
    if (const std::string* text = text_in(&*value)) return *text;
  }
  return std::string{piece};
}

}  // namespace

std::size_t begin_of_logged_traceback(std::string_view line) {
  std::size_t begin = line.find(kEscapedHeader);
  if (begin == std::string_view::npos) return begin;
  while (begin > 0 && !is_bare_quote(line, begin - 1)) --begin;
  return begin;
}

std::vector<StringLine> lines_of_string(std::string_view text) {
  std::vector<StringLine> lines;
  std::size_t begin = 0;
  std::size_t at = 0;
  const auto end_line = [&] {
    const std::size_t end = std::min(at, text.size());
    lines.push_back({unescaped(text.substr(begin, end - begin)), begin});
  };
  while (at < text.size() && text[at] != '"') {
    if (text.substr(at, 2) == "\\n") {
      end_line();
      begin = at + 2;
    }
    at += text[at] == '\\' ? 2 : 1;
  }
  end_line();
  return lines;
}

}  // namespace ddprun
