#include "launcher/doctor/kernel_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "base/number_list.hpp"
#include "base/parse_number.hpp"
#include "base/split_lines.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

std::string first_word_of(const fs::path& path) {
  std::istringstream text{text_if_any(path)};
  std::string word;
  text >> word;
  return word;
}

std::optional<std::int64_t> number_in(const fs::path& path) {
  const std::string word = first_word_of(path);
  if (word == "max") return kUnlimited;
  return parse_number<std::int64_t>(word);
}

/// The number behind a name: "MemTotal:  131072 kB", "inactive_file 4096".
std::optional<std::int64_t> number_behind(const std::string& text, const std::string& name) {
  for (const std::string& line : split_lines(text)) {
    std::istringstream words{line};
    std::string first, second;
    words >> first >> second;
    if (first == name) return parse_number<std::int64_t>(second);
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

void read_memory(const fs::path& root, MemoryReading& memory) {
  const std::string text = text_if_any(root / "proc/meminfo");
  if (const auto total = number_behind(text, "MemTotal:")) memory.total_bytes = *total * 1024;
  if (const auto free = number_behind(text, "MemAvailable:")) memory.available_bytes = *free * 1024;
  const std::string pages = text_if_any(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = pages.find('['), end = pages.find(']');
  if (begin < end && end != std::string::npos)
    memory.transparent_huge_pages = pages.substr(begin + 1, end - begin - 1);
}

// --- cgroups ---

/// Folders of this process's cgroup and of those around it, the innermost first. `controller` is
/// one of version 1; "": version 2.
std::vector<fs::path> cgroups(const fs::path& root, const std::string& controller) {
  fs::path mount = root / "sys/fs/cgroup";
  if (!controller.empty()) mount /= controller;
  std::vector<fs::path> folders;
  for (const std::string& line : split_lines(text_if_any(root / "proc/self/cgroup"))) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) != controller) continue;
    for (fs::path path = fs::path{line.substr(second + 1)}.relative_path(); !path.empty();
         path = path.parent_path())
      folders.push_back(mount / path);
  }
  folders.push_back(mount);
  return folders;
}

struct CgroupFiles {
  const char* controller;
  const char* memory_max;
  const char* memory_used;
  const char* inactive;
};
constexpr CgroupFiles kCgroupFiles[] = {
    {"", "memory.max", "memory.current", "inactive_file"},
    {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}};

/// Version 1 has no word for "no limit", but a number that is larger than any memory.
constexpr std::int64_t kNoLimitFrom = std::int64_t{1} << 60;

/// The cgroup with the least left counts, of all that are around this process.
void read_cgroup_memory(const fs::path& root, MemoryReading& memory) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const CgroupFiles& files : kCgroupFiles)
    for (const fs::path& folder : cgroups(root, files.controller)) {
      const auto max = number_in(folder / files.memory_max);
      if (!max || *max == kUnlimited || *max >= kNoLimitFrom) continue;
      const auto all = number_in(folder / files.memory_used).value_or(0);
      const auto cache = number_behind(text_if_any(folder / "memory.stat"), files.inactive);
      const std::int64_t used = std::max<std::int64_t>(all - cache.value_or(0), 0);
      if (*max - used >= least) continue;
      least = *max - used;
      memory.cgroup_max_bytes = *max;
      memory.cgroup_used_bytes = used;
    }
}

void read_cgroup_tasks(const fs::path& root, LimitsReading& limits) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const char* controller : {"", "pids"})
    for (const fs::path& folder : cgroups(root, controller)) {
      const auto max = number_in(folder / "pids.max");
      if (!max || *max == kUnlimited) continue;
      const auto now = number_in(folder / "pids.current").value_or(0);
      if (*max - now >= least) continue;
      least = *max - now;
      limits.cgroup_tasks_max = *max;
      limits.cgroup_tasks = now;
    }
}

/// "200000 100000" of cpu.max, or the two files of version 1.
std::optional<double> quota_in(const fs::path& folder) {
  std::istringstream text{text_if_any(folder / "cpu.max")};
  double quota = 0, period = 0;
  if (!(text >> quota >> period)) {
    quota = static_cast<double>(number_in(folder / "cpu.cfs_quota_us").value_or(-1));
    period = static_cast<double>(number_in(folder / "cpu.cfs_period_us").value_or(0));
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

void read_cpus(const fs::path& root, CpusReading& cpus) {
  const fs::path system = root / "sys/devices/system";
  if (const auto online = parse_cpu_list(first_word_of(system / "cpu/online")))
    cpus.online = static_cast<int>(online->size());
  if (const auto nodes = parse_cpu_list(first_word_of(system / "node/online")))
    cpus.numa_nodes = static_cast<int>(nodes->size());
  for (const char* controller : {"", "cpu"})
    for (const fs::path& folder : cgroups(root, controller))
      if (const auto quota = quota_in(folder))
        cpus.quota = std::min(*quota, cpus.quota.value_or(*quota));
}

// --- devices ---

bool is_nvidia_gpu(const fs::path& device) {
  const std::string device_class = first_word_of(device / "class");
  return first_word_of(device / "vendor") == "0x10de" &&
         (device_class.starts_with("0x0300") || device_class.starts_with("0x0302"));
}

int nvidia_gpus_on_bus(const fs::path& root) {
  const fs::path devices = root / "sys/bus/pci/devices";
  return static_cast<int>(std::ranges::count_if(
      names_in(devices), [&](const std::string& name) { return is_nvidia_gpu(devices / name); }));
}

std::string rest_of_line(const std::string& text, std::size_t from) {
  return text.substr(std::min(from, text.size()), text.find('\n') == std::string::npos
                                                      ? std::string::npos
                                                      : text.find('\n') - from);
}

void read_infiniband(const fs::path& root, NodeReading& reading) {
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices))
    for (const std::string& port : names_in(devices / device / "ports")) {
      const fs::path folder = devices / device / "ports" / port;
      const std::string state = text_if_any(folder / "state");  // "4: ACTIVE"
      const std::size_t word = state.find(": ");
      reading.infiniband.push_back(
          {.device = device,
           .port = parse_number<int>(port).value_or(0),
           .state = rest_of_line(state, word == std::string::npos ? 0 : word + 2),
           .link_layer = first_word_of(folder / "link_layer"),
           .rate = rest_of_line(text_if_any(folder / "rate"), 0)});
    }
}

void read_capabilities(const fs::path& root, LimitsReading& limits) {
  constexpr int kIpcLock = 14, kSysAdmin = 21, kSysResource = 24;  // <linux/capability.h>
  std::istringstream lines{text_if_any(root / "proc/self/status")};
  for (std::string name, value; lines >> name;) {
    if (name != "CapEff:") continue;
    lines >> value;
    const std::uint64_t set = std::strtoull(value.c_str(), nullptr, 16);
    const auto has = [set](int bit) { return ((set >> bit) & 1) != 0; };
    limits.locks_all_memory = has(kIpcLock);
    limits.may_exceed_processes = has(kSysAdmin) || has(kSysResource);
  }
}

}  // namespace

ProcessesLook look_at_processes(const std::filesystem::path& root) {
  ProcessesLook look;
  std::istringstream uptime{text_if_any(root / "proc/uptime")};
  double seconds = 0;
  if (uptime >> seconds)
    look.at = std::llround(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)));
  std::error_code error;
  for (std::filesystem::directory_iterator entry{root / "proc", error}, end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = parse_number<std::int64_t>(entry->path().filename().string());
    if (!pid || *pid == ::getpid()) continue;
    if (auto times = parse_process_times(text_if_any(entry->path() / "stat")))
      look.processes.push_back(std::move(*times));
  }
  return look;
}

void read_kernel_files(const fs::path& root, NodeReading& reading) {
  reading.kernel = first_word_of(root / "proc/sys/kernel/osrelease");
  read_memory(root, reading.memory);
  read_cgroup_memory(root, reading.memory);
  read_cgroup_tasks(root, reading.limits);
  read_capabilities(root, reading.limits);
  read_cpus(root, reading.cpus);
  read_infiniband(root, reading);
  if (const int gpus = nvidia_gpus_on_bus(root); gpus > 0)
    reading.gpus = GpusReading{.on_bus = gpus};
}

}  // namespace ddprun
