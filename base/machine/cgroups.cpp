#include "base/machine/cgroups.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/machine/sysfs_files.hpp"
#include "base/numbers.hpp"
#include "base/system/whole_file.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kNoLimitFrom = std::int64_t{1} << 60;

/// What a controller calls its files.
struct ShareFiles {
  const char* controller;
  const char* max;
  const char* used;
  const char* given_back;  // in memory.stat; nullptr: nothing is
};

constexpr ShareFiles kMemory[] = {
    {"", "memory.max", "memory.current", "inactive_file"},
    {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}};
constexpr ShareFiles kTasks[] = {{"", "pids.max", "pids.current", nullptr},
                                 {"pids", "pids.max", "pids.current", nullptr}};

std::int64_t used_in(const fs::path& folder, const ShareFiles& files) {
  const std::int64_t all = limit_in(folder / files.used).value_or(0);
  if (files.given_back == nullptr) return all;
  const auto cache = number_behind(files.given_back, text_if_any(folder / "memory.stat"));
  return std::max<std::int64_t>(all - cache.value_or(0), 0);
}

std::optional<CgroupShare> least_left(const fs::path& root, const ShareFiles (&versions)[2]) {
  std::optional<CgroupShare> least;
  for (const ShareFiles& files : versions)
    for (const fs::path& folder : cgroups_of(root, "self", files.controller)) {
      const auto max = limit_in(folder / files.max);
      if (!max) continue;
      const std::int64_t used = used_in(folder, files);
      if (!least || *max - used < least->max - least->used) least = CgroupShare{*max, used};
    }
  return least;
}

/// Reads "200000 100000" of cpu.max, or the two files of version 1.
std::optional<double> quota_in(const fs::path& folder) {
  std::istringstream text{text_if_any(folder / "cpu.max")};
  double quota = 0, period = 0;
  if (!(text >> quota >> period)) {
    quota = static_cast<double>(limit_in(folder / "cpu.cfs_quota_us").value_or(-1));
    period = static_cast<double>(limit_in(folder / "cpu.cfs_period_us").value_or(0));
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// Whether a list of controllers, "cpu,cpuacct", has that one.
bool has_controller(std::string_view list, std::string_view controller) {
  const std::string all = "," + std::string{list} + ",";
  return all.find("," + std::string{controller} + ",") != std::string::npos;
}

/// Where both versions are mounted, the second one has a folder among those of the first.
fs::path mount_of(const fs::path& root, std::string_view controller) {
  const fs::path mount = root / "sys/fs/cgroup";
  const fs::path both = mount / "unified";
  return controller.empty() && is_there(both) ? both : mount / controller;
}

}  // namespace

std::vector<fs::path> cgroups_of(const fs::path& root, const std::string& process,
                                 std::string_view controller) {
  const fs::path mount = mount_of(root, controller);
  std::vector<fs::path> folders;
  for (const std::string& line : split_lines(text_if_any(root / "proc" / process / "cgroup"))) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (!has_controller(line.substr(first + 1, second - first - 1), controller)) continue;
    for (fs::path path = fs::path{line.substr(second + 1)}.relative_path(); !path.empty();
         path = path.parent_path())
      folders.push_back(mount / path);
  }
  folders.push_back(mount);
  return folders;
}

std::optional<std::int64_t> limit_in(const fs::path& file) {
  const auto line = first_line(file);
  const auto limit = line ? parse_number<std::int64_t>(*line) : std::nullopt;  // "max" is none
  return limit && *limit < kNoLimitFrom ? limit : std::nullopt;
}

std::optional<CgroupShare> cgroup_memory(const fs::path& root) { return least_left(root, kMemory); }

std::optional<CgroupShare> cgroup_tasks(const fs::path& root) { return least_left(root, kTasks); }

CpuQuota cpu_quota(const fs::path& root, const std::string& process) {
  CpuQuota found;
  for (const char* controller : {"", "cpu"})
    for (const fs::path& folder : cgroups_of(root, process, controller)) {
      if (const auto quota = quota_in(folder))
        found.cpus = std::min(*quota, found.cpus.value_or(*quota));
      if (const auto time = throttled_time(text_if_any(folder / "cpu.stat")))
        found.throttled = found.throttled.value_or(std::chrono::microseconds{0}) + *time;
    }
  return found;
}

std::optional<std::chrono::microseconds> throttled_time(const std::string& text) {
  if (const auto us = number_behind("throttled_usec", text)) return std::chrono::microseconds{*us};
  const auto ns = number_behind("throttled_time", text);  // version 1
  return ns ? std::optional{std::chrono::microseconds{*ns / 1000}} : std::nullopt;
}

}  // namespace ddprun
