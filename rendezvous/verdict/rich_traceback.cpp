#include "rendezvous/verdict/rich_traceback.hpp"

#include <algorithm>

namespace ddprun {

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
