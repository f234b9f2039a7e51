#include "base/number_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ddprun {

std::string counted(std::int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const bool whole = value >= 10 || value == std::trunc(value);
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, kUnits[unit]);
}

std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace ddprun
