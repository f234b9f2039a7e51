#include "launcher/doctor/finding.hpp"

#include <fmt/format.h>

namespace ddprun {

std::string limit_text(std::int64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit);
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
