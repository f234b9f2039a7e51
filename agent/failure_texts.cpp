#include "agent/failure_texts.hpp"

#include <climits>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.hpp"
#include "base/utf8.hpp"

namespace ddprun {

namespace {

/// Room for the line that says that something was left out.
constexpr std::size_t kNoteBytesMax = 64;

std::string left_out(const std::string& what) { return "[ddprun: " + what + " left out]"; }

/// Only as much is made printable as can stay: a text may have a megabyte.
std::string beginning(std::string_view text, std::size_t most) {
  std::string begin = plain_text(text.substr(0, begin_of_character(text, most)));
  if (text.size() <= most && begin.size() <= most) return begin;
  begin.resize(begin_of_character(begin, most - kNoteBytesMax));
  return begin + "\n" + left_out("the rest is");
}

std::string ending(std::string_view text, std::size_t most) {
  const std::size_t from = text.size() > most ? begin_of_character(text, text.size() - most) : 0;
  std::string end = plain_text(text.substr(from));
  if (from == 0 && end.size() <= most) return end;
  const std::size_t room = most - kNoteBytesMax;
  if (end.size() > room) end.erase(0, end_of_character(end, end.size() - room));
  return left_out("the beginning is") + "\n" + end;
}

std::string word(std::string_view text) {
  std::string line = plain_line(text.substr(0, begin_of_character(text, kFailureWordBytesMax)));
  if (line.size() > kFailureWordBytesMax)
    line.resize(begin_of_character(line, kFailureWordBytesMax));
  return line;
}

/// Drops the oldest of the lines, and cuts the newest if it alone is too long.
void keep_last(std::vector<std::string>& lines, std::size_t most) {
  std::size_t bytes = 0;
  for (std::string& line : lines) bytes += (line = plain_line(line)).size();
  if (bytes <= most) return;
  const std::size_t room = most - kNoteBytesMax;
  std::size_t first = 0;
  for (; bytes > room && first + 1 < lines.size(); ++first) bytes -= lines[first].size();
  if (lines.back().size() > room) lines.back().resize(begin_of_character(lines.back(), room));
  if (first == 0) return;
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(first));
  lines.insert(lines.begin(), left_out(std::to_string(first) + " lines before are"));
}

}  // namespace

void shorten_texts(WorkerFailure& failure, std::size_t most) {
  failure.host = word(failure.host);
  failure.evidence = word(failure.evidence);
  failure.last_heartbeat = word(failure.last_heartbeat);
  failure.message = beginning(failure.message, most);
  failure.traceback = ending(failure.traceback, most);
  keep_last(failure.last_lines, most);
  if (failure.error_file.size() >= PATH_MAX) failure.error_file.clear();
}

}  // namespace ddprun
