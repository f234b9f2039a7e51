#include "base/machine/usable_cpus.hpp"

#include <algorithm>
#include <string>

#include "base/machine/machine_topology.hpp"
#include "base/parse_number.hpp"
#include "base/split_lines.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

std::optional<int> quota_of_own_cgroup() {
  for (const std::string& line : split_lines(text_if_any("/proc/self/cgroup")))
    if (line.starts_with("0::"))  // the line of cgroup v2
      return cpu_quota(text_if_any("/sys/fs/cgroup" + line.substr(3) + "/cpu.max"));
  return std::nullopt;
}

}  // namespace

std::optional<int> cpu_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::string_view period = cpu_max.substr(space + 1);
  if (period.ends_with('\n')) period.remove_suffix(1);
  const auto quota_us = parse_number<long>(cpu_max.substr(0, space));  // "max" is none
  const auto period_us = parse_number<long>(period);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<int>(std::max(1L, *quota_us / *period_us));
}

int usable_cpus() {
  const int cpus = std::max(1, static_cast<int>(allowed_cpus().size()));
  return std::min(cpus, quota_of_own_cgroup().value_or(cpus));
}

}  // namespace ddprun
