#include "agent/usable_cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <vector>

namespace ddprun {

namespace {

constexpr std::size_t kCpusMax = 8192;  // the kernel's own limit (CONFIG_NR_CPUS)

int affinity_cpus() {
  std::vector<cpu_set_t> mask(kCpusMax / CPU_SETSIZE);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(0, bytes, mask.data()) != 0) return 1;
  return std::max(1, CPU_COUNT_S(bytes, mask.data()));
}

std::optional<int> quota_of_own_cgroup() {
  std::ifstream membership{"/proc/self/cgroup"};
  for (std::string line; std::getline(membership, line);) {
    if (!line.starts_with("0::")) continue;  // the line of cgroup v2
    std::ifstream limit{"/sys/fs/cgroup" + line.substr(3) + "/cpu.max"};
    std::string cpu_max;
    std::getline(limit, cpu_max);
    return cpu_quota(cpu_max);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> cpu_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view text) {
    long value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const long quota_us = number(cpu_max.substr(0, space));  // "max" reads as 0
  const long period_us = number(cpu_max.substr(space + 1));
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;
  return static_cast<int>(std::max(1L, quota_us / period_us));
}

int usable_cpus() {
  const int cpus = affinity_cpus();
  return std::min(cpus, quota_of_own_cgroup().value_or(cpus));
}

}  // namespace ddprun
