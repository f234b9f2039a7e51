#include "launcher/doctor/node_findings.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace ddprun {

std::string bytes_text(std::int64_t bytes) {
  if (bytes == kUnlimited) return "unlimited";
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const bool whole = value >= 10 || value == std::trunc(value);
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, kUnits[unit]);
}

std::string limit_text(std::int64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit);
}

std::string count_text(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string user_text(const GpuProcess& process) {
  return fmt::format("{} (pid {})", process.name.empty() ? "a process" : process.name, process.pid);
}

std::string list_text(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

}  // namespace ddprun
