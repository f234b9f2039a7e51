#include "agent/output/line_stamper.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <utility>

namespace ddprun {

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

}  // namespace ddprun
