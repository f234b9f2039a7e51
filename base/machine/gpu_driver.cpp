#include "base/machine/gpu_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/system/whole_file.hpp"

namespace ddprun {

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

bool ends_at_switch(const NvmlLibrary& driver, NvmlGpu gpu, unsigned link,
                    const std::vector<std::string>& gpus, const std::string& peer) {
  unsigned type = 0;
  if (driver.ask(nvml::kLinkPeerType, gpu, link, &type)) return type == kNvlinkToSwitch;
  return std::ranges::find(gpus, peer) == gpus.end();  // a driver that does not tell types
}

/// `gpus` are the bus ids of all of them.
void add_links(const NvmlLibrary& driver, NvmlGpu gpu, const std::vector<std::string>& gpus,
               GpuReading& reading) {
  int to_switches = 0;
  for (unsigned link = 0; link < kNvlinksMax; ++link) {
    unsigned active = 0;
    NvmlPciInfo info{};
    if (!driver.ask(nvml::kLinkState, gpu, link, &active) || active == 0) continue;
    if (!driver.ask(nvml::kLinkPeer, gpu, link, &info)) continue;
    std::string peer = bus_id_of(info);
    if (ends_at_switch(driver, gpu, link, gpus, peer))
      ++to_switches;
    else
      reading.peers.push_back(std::move(peer));
  }
  reading.links_to_switches = to_switches;
}

/// nvmlGpuTopologyLevel_t; "": another one.
const char* way_of(unsigned level) {
  switch (level) {
    case 0:  // on one board
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "";
  }
}

void read_links(const NvmlLibrary& driver, GpusReading& reading) {
  const auto listed = driver.gpus();
  if (!listed) {
    reading.error = listed.error().message;
    return;
  }
  std::vector<NvmlGpu> gpus;
  std::vector<std::string> bus_ids;
  for (const NvmlListed& one : *listed) {
    if (one.bus_id.empty()) continue;
    gpus.push_back(one.gpu);
    bus_ids.push_back(one.bus_id);
    reading.gpus.push_back(
        {.index = static_cast<int>(one.index), .bus_id = one.bus_id, .model = one.model});
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_links(driver, gpus[i], bus_ids, reading.gpus[i]);
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      unsigned level = 0;
      if (!driver.ask(nvml::kCommonAncestor, gpus[i], gpus[j], &level)) continue;
      if (const std::string way = way_of(level); !way.empty())
        reading.ways.push_back({bus_ids[i], bus_ids[j], way});
    }
  }
}

GpusReading ask(const std::string& library,
                void (*question)(const NvmlLibrary& driver, GpusReading& reading)) {
  GpusReading reading;
  if (const auto driver = NvmlLibrary::open(library))
    question(*driver, reading);
  else
    reading.error = driver.error().message;
  return reading;
}

}  // namespace

GpusReading ask_gpu_driver(const std::string& library) { return ask(library, read_gpus); }

GpusReading ask_gpu_links(const std::string& library) { return ask(library, read_links); }

}  // namespace ddprun
