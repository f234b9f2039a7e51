#include "launcher/doctor/read/kernel_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "base/machine/cgroups.hpp"
#include "base/machine/devices.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/numbers.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace {

namespace fs = std::filesystem;

void read_memory(const fs::path& root, MemoryReading& memory) {
  const MachineMemory machine = machine_memory(root);
  memory.total_bytes = machine.total_bytes;
  memory.available_bytes = machine.available_bytes;
  const std::string pages = text_if_any(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = pages.find('['), end = pages.find(']');
  if (begin < end && end != std::string::npos)
    memory.transparent_huge_pages = pages.substr(begin + 1, end - begin - 1);
}

void read_cgroups(const fs::path& root, NodeReading& reading) {
  if (const auto memory = cgroup_memory(root)) {
    reading.memory.cgroup_max_bytes = memory->max;
    reading.memory.cgroup_used_bytes = memory->used;
  }
  if (const auto tasks = cgroup_tasks(root)) {
    reading.limits.cgroup_tasks_max = tasks->max;
    reading.limits.cgroup_tasks = tasks->used;
  }
  reading.cpus.quota = cpu_quota(root).cpus;
}

void read_cpus(const fs::path& root, CpusReading& cpus) {
  if (const auto online = online_cpus(root); !online.empty())
    cpus.online = static_cast<int>(online.size());
  if (const auto nodes = read_cpu_list(root / "sys/devices/system/node/online"))
    cpus.numa_nodes = static_cast<int>(nodes->size());
}

int nvidia_gpus_on_bus(const fs::path& root) {
  return static_cast<int>(std::ranges::count_if(pci_devices(root), [](const PciDevice& device) {
    return device.kind == PciDevice::Kind::kGpu && device.vendor == kNvidia;
  }));
}

void read_infiniband(const fs::path& root, NodeReading& reading) {
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices))
    for (const std::string& port : names_in(devices / device / "ports")) {
      const fs::path folder = devices / device / "ports" / port;
      const std::string state = line_of(folder / "state");  // "4: ACTIVE"
      const std::size_t word = state.find(": ");
      reading.infiniband.push_back(
          {.device = device,
           .port = parse_number<int>(port).value_or(0),
           .state = word == std::string::npos ? state : state.substr(word + 2),
           .link_layer = line_of(folder / "link_layer"),
           .rate = line_of(folder / "rate")});
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
  if (uptime >> seconds) look.at = std::chrono::milliseconds{std::llround(seconds * 1000)};
  const long ticks = ::sysconf(_SC_CLK_TCK);
  for (const std::string& name : names_in(root / "proc")) {
    const auto pid = parse_number<std::int64_t>(name);
    if (!pid || *pid == ::getpid()) continue;
    if (auto facts = parse_stat(text_if_any(root / "proc" / name / "stat"), ticks))
      look.processes.push_back(std::move(*facts));
  }
  return look;
}

void read_kernel_files(const fs::path& root, NodeReading& reading) {
  reading.kernel = line_of(root / "proc/sys/kernel/osrelease");
  read_memory(root, reading.memory);
  read_cgroups(root, reading);
  read_capabilities(root, reading.limits);
  read_cpus(root, reading.cpus);
  read_infiniband(root, reading);
  if (const int gpus = nvidia_gpus_on_bus(root); gpus > 0)
    reading.gpus = GpusReading{.on_bus = gpus};
}

}  // namespace ddprun
