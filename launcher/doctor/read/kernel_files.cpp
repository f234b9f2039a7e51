#include "launcher/doctor/read/kernel_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>

#include "base/machine/cgroups.hpp"
#include "base/machine/devices.hpp"
#include "base/machine/machine_topology.hpp"
#include "base/machine/nvml_library.hpp"
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
  reading.cpus.quota = cgroup_cpus(root);
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

namespace {

constexpr unsigned kProcessesMax = 64;
constexpr unsigned kUncorrected = 1;      // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr unsigned kSinceDriverLoad = 0;  // NVML_VOLATILE_ECC
constexpr unsigned kGpuSensor = 0;        // NVML_TEMPERATURE_GPU

/// Reads one GPU, a question at a time. What the driver does not tell stays missing.
class GpuSurvey {
 public:
  GpuSurvey(const NvmlLibrary& driver, NvmlGpu gpu, GpuReading& reading)
      : driver_{driver}, gpu_{gpu}, reading_{reading} {}

  void read() {
    read_memory();
    read_processes();
    read_errors();
    read_state();
    read_links();
  }

 private:
  void read_memory() {
    NvmlMemory memory;
    if (!driver_.ask(nvml::kMemory, gpu_, &memory)) return;
    reading_.memory_bytes = static_cast<std::int64_t>(memory.total);
    reading_.used_bytes = static_cast<std::int64_t>(memory.used);
  }

  void read_processes() {
    std::array<NvmlProcess, kProcessesMax> processes{};
    unsigned count = kProcessesMax;
    if (!driver_.ask(nvml::kProcesses, gpu_, &count, processes.data())) return;
    constexpr NvmlWide kNotKnown = ~NvmlWide{0};  // NVML_VALUE_NOT_AVAILABLE
    for (unsigned i = 0; i < std::min(count, kProcessesMax); ++i) {
      const NvmlProcess& process = processes[i];
      std::string name = text_if_any(fmt::format("/proc/{}/comm", process.pid));
      name.erase(std::min(name.find('\n'), name.size()));
      const NvmlWide bytes = process.used_bytes == kNotKnown ? 0 : process.used_bytes;
      reading_.processes.push_back({process.pid, name, static_cast<std::int64_t>(bytes)});
    }
  }

  void read_errors() {
    unsigned now = 0, later = 0;
    if (driver_.ask(nvml::kEccMode, gpu_, &now, &later)) reading_.ecc = now != 0;
    NvmlWide errors = 0;
    if (driver_.ask(nvml::kEccErrors, gpu_, kUncorrected, kSinceDriverLoad, &errors))
      reading_.uncorrected_errors = static_cast<std::int64_t>(errors);
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (driver_.ask(nvml::kRemappedRows, gpu_, &corrected, &uncorrected, &pending, &failed)) {
      reading_.repair_pending = pending != 0;
      reading_.repair_failed = failed != 0;
    } else if (driver_.ask(nvml::kRetiredPagesPending, gpu_, &pending)) {
      reading_.repair_pending = pending != 0;
    }
  }

  void read_state() {
    unsigned number = 0;
    if (driver_.ask(nvml::kPersistence, gpu_, &number)) reading_.persistent = number != 0;
    if (driver_.ask(nvml::kTemperature, gpu_, kGpuSensor, &number))
      reading_.celsius = static_cast<int>(number);
    NvmlWide reasons = 0;
    if (!driver_.ask(nvml::kThrottleReasons, gpu_, &reasons)) return;
    // Others, such as an idle GPU or its power limit, are no illness.
    constexpr std::pair<NvmlWide, const char*> kIll[] = {
        {0x8, "hw_slowdown"}, {0x20, "sw_thermal"}, {0x40, "hw_thermal"}, {0x80, "hw_power_brake"}};
    for (const auto& [bit, word] : kIll)
      if ((reasons & bit) != 0) reading_.throttled.emplace_back(word);
  }

  void read_links() {
    int links = 0, active = 0;
    for (unsigned link = 0; link < kNvlinksMax; ++link) {
      unsigned is_active = 0, type = 0;
      if (!driver_.ask(nvml::kLinkState, gpu_, link, &is_active)) continue;
      ++links;
      if (is_active == 0) continue;
      ++active;
      if (driver_.ask(nvml::kLinkPeerType, gpu_, link, &type))
        reading_.nvswitch = reading_.nvswitch || type == kNvlinkToSwitch;
    }
    if (links == 0) return;
    reading_.nvlinks = links;
    reading_.nvlinks_active = active;
  }

  const NvmlLibrary& driver_;
  NvmlGpu gpu_;
  GpuReading& reading_;
};

void read_gpus(const NvmlLibrary& driver, GpusReading& reading) {
  std::array<char, 96> version{};
  if (driver.ask(nvml::kDriverVersion, version.data(), static_cast<unsigned>(version.size())))
    reading.driver = text_in(version);
  int cuda = 0;  // 12040 of 12.4
  if (driver.ask(nvml::kCudaVersion, &cuda))
    reading.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  const auto gpus = driver.gpus();
  if (!gpus) {
    reading.error = gpus.error().message;
    return;
  }
  for (const NvmlListed& one : *gpus) {
    GpuReading& added = reading.gpus.emplace_back(
        GpuReading{.index = static_cast<int>(one.index), .bus_id = one.bus_id, .model = one.model});
    GpuSurvey{driver, one.gpu, added}.read();
  }
}

}  // namespace

GpusReading ask_gpu_driver(const std::string& library) {
  GpusReading reading;
  if (const auto driver = NvmlLibrary::open(library))
    read_gpus(*driver, reading);
  else
    reading.error = driver.error().message;
  return reading;
}

}  // namespace ddprun
