#include "launcher/doctor/gpu_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/machine/nvml_library.hpp"
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
