#include "rendezvous/verdict/text_lines.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "rendezvous/verdict/wrapped_traceback.hpp"

namespace ddprun {

namespace {

constexpr char kEscape = '\x1b';

/// Where the order to a terminal that begins at `at` ends: ESC [ parameters letter, ESC ] text BEL,
/// or ESC and one byte.
std::size_t end_of_order(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (end >= text.size()) return end;
  if (text[end] == '[') {
    ++end;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size());
  }
  if (text[end] == ']') {
    const std::size_t bell = text.find('\a', end);
    return bell == std::string_view::npos ? text.size() : bell + 1;
  }
  return end + 1;
}

std::string without_orders(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kTextLineBytesMax;) {
    if (text[i] == kEscape) {
      i = end_of_order(text, i);
      continue;
    }
    if (std::iscntrl(static_cast<unsigned char>(text[i])) == 0 || text[i] == '\t') out += text[i];
    ++i;
  }
  out.resize(begin_of_character(out, out.size()));
  return out;
}

/// What a terminal shows of a line in which carriage returns go back to its beginning.
std::string_view last_drawn(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 == 0: all of it
}

/// The line, which begins at `offset`, as one or, with a traceback in a JSON string, as several.
void add_lines(std::string_view line, std::size_t offset, std::vector<TextLine>& lines) {
  const std::size_t string = begin_of_logged_traceback(line);
  const std::string_view before = line.substr(0, string);
  if (string == std::string_view::npos || !before.empty())
    lines.push_back({without_orders(last_drawn(before)), offset});
  if (string == std::string_view::npos) return;
  for (const StringLine& each : lines_of_string(line.substr(string)))
    lines.push_back({without_orders(each.text), offset + string + each.offset, true});
}

}  // namespace

std::vector<TextLine> text_lines(std::string_view text) {
  std::vector<TextLine> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    add_lines(text.substr(from, end - from), from, lines);
    from = end + 1;
  }
  return lines;
}

std::size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

std::optional<std::string_view> after(std::string_view text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return std::nullopt;
  return text.substr(beginning.size());
}

std::optional<std::string_view> behind(std::string_view text, std::string_view part) {
  const std::size_t begin = text.find(part);
  if (begin == std::string_view::npos) return std::nullopt;
  return text.substr(begin + part.size());
}

std::optional<std::string_view> between(std::string_view text, std::string_view from,
                                        std::string_view to) {
  const auto rest = behind(text, from);
  const std::size_t end = rest ? rest->find(to) : std::string_view::npos;
  if (end == std::string_view::npos) return std::nullopt;
  return rest->substr(0, end);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return has(text, part); });
}

bool is_noise(std::string_view line) {
  const std::string_view bare = trimmed(line);
  if (bare.empty()) return true;
  if (bare.starts_with("[W") || bare.starts_with("[I")) return true;  // torch's own log: [W1122 ...
  // The stack of C functions that Python 3.14 adds to its own.
  if (has_any(bare, {"C stack trace (most", "Binary file \"", "<truncated rest of calls>"}))
    return true;
  return has_any(
      bare, {"Warning:", "warnings.warn(", "warnings.warn_explicit(", "resource_tracker",
             "NCCL INFO", "NCCL WARN", "destroy_process_group()", "Exception raised from ",
             "frame #", "wandb:", "C++ CapturedTraceback", "Exception ignored ", "it/s]", "s/it]",
             "Extension modules:", "Aborted (core dumped)", "Segmentation fault (core dumped)"});
}

}  // namespace ddprun
