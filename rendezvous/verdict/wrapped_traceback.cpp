#include "rendezvous/verdict/wrapped_traceback.hpp"

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

namespace {

constexpr std::string_view kCorner = "╭";
constexpr std::string_view kLowerCorner = "╰";
constexpr std::string_view kSide = "│";

/// "/home/me/train.py:88 in main", as the box has it.
std::optional<Frame> boxed_frame(std::string_view inside) {
  const std::size_t in = inside.find(" in ");
  if (in == std::string_view::npos) return std::nullopt;
  const std::string_view where = inside.substr(0, in);
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos || where.find(' ') != std::string_view::npos)
    return std::nullopt;
  const int line = leading_number(where.substr(colon + 1));
  if (line <= 0) return std::nullopt;
  return Frame{std::string{trimmed(inside.substr(in + 4))}, std::string{where.substr(0, colon)},
               line};
}

}  // namespace

bool is_rich_header(std::string_view line) { return has(line, kCorner) && has(line, "─"); }

std::optional<Raised> read_rich_traceback(const std::vector<TextLine>& lines, std::size_t& at) {
  Raised raised;
  for (++at; at < lines.size(); ++at) {
    const std::string_view line = lines[at].text;
    if (has(line, kLowerCorner)) break;
    const auto inside = between(line, kSide, kSide);
    if (!inside) continue;
    if (auto frame = boxed_frame(trimmed(*inside))) raised.frames.push_back(std::move(*frame));
  }
  if (at + 1 >= lines.size()) return std::nullopt;
  const std::string_view error = trimmed(lines[++at].text);
  const std::size_t colon = error.find(':');
  raised.fault.type = error.substr(0, colon);
  if (colon != std::string_view::npos) raised.fault.message = trimmed(error.substr(colon + 1));
  if (raised.fault.type.empty() || has(raised.fault.type, " ")) return std::nullopt;
  std::ranges::reverse(raised.frames);
  ++at;
  return raised;
}

}  // namespace ddprun
