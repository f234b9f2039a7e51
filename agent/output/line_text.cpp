#include "agent/output/line_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace ddprun {

std::string LineBuffer::feed(std::string_view bytes) {
  std::size_t end = bytes.find_last_of("\r\n");
  // "\r" alone at the end may be the first half of "\r\n".
  if (end + 1 == bytes.size() && end > 0 && bytes[end] == '\r')
    end = bytes.find_last_of("\r\n", end - 1);
  else if (bytes == "\r")
    end = std::string_view::npos;
  if (end == std::string_view::npos) {
    held_ += bytes;
    return held_.size() > kHeldBytesMax ? take_rest() : std::string{};
  }
  std::string ready = std::exchange(held_, std::string{bytes.substr(end + 1)});
  ready += bytes.substr(0, end + 1);
  return ready;
}

std::string LineBuffer::take_rest() { return std::exchange(held_, {}); }

std::string time_stamp(std::int64_t unix_time_ms) {
  const std::time_t seconds = unix_time_ms / 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  const long offset_min = local.tm_gmtoff / 60;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}{}{:02}:{:02} ",
                     local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour,
                     local.tm_min, local.tm_sec, unix_time_ms % 1000, offset_min < 0 ? '-' : '+',
                     std::abs(offset_min) / 60, std::abs(offset_min) % 60);
}

std::string LineStamper::stamped(std::string_view bytes, std::string_view stamp) {
  std::string out;
  out.reserve(bytes.size() + stamp.size());
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    if (std::exchange(line_begins_, end != std::string_view::npos)) out += stamp;
    out += line;
    bytes.remove_prefix(line.size());
  }
  return out;
}

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
