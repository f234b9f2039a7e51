#include "launcher/doctor/gpu_driver.hpp"

#include <dlfcn.h>
#include <spdlog/fmt/fmt.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "launcher/doctor/kernel_files.hpp"
#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

namespace {

using Gpu = void*;  // nvmlDevice_t
using Wide = unsigned long long;
constexpr int kSuccess = 0;
constexpr unsigned kGpusMax = 64;
constexpr unsigned kNvlinksMax = 64;
constexpr unsigned kProcessesMax = 64;
constexpr unsigned kLinkToSwitch = 2;     // NVML_NVLINK_DEVICE_TYPE_SWITCH
constexpr unsigned kUncorrected = 1;      // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr unsigned kSinceDriverLoad = 0;  // NVML_VOLATILE_ECC
constexpr unsigned kGpuSensor = 0;        // NVML_TEMPERATURE_GPU

/// nvmlPciInfo_t
struct DriverPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

/// nvmlMemory_v2_t. It tells what the driver keeps for itself apart from what is used.
struct DriverMemory {
  unsigned version = sizeof(DriverMemory) | (2U << 24);
  Wide total = 0, reserved = 0, free = 0, used = 0;
};

/// nvmlProcessInfo_t
struct DriverProcess {
  unsigned pid;
  Wide used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

/// The functions that are asked. Those that a driver lacks are null.
struct DriverLibrary {
  std::unique_ptr<void, CloseLibrary> library;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Gpu*) = nullptr;
  int (*pci_info)(Gpu, DriverPciInfo*) = nullptr;
  int (*name)(Gpu, char*, unsigned) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;

  template <typename Function>
  Function function(const char* symbol) const {
    void* const address = ::dlsym(library.get(), symbol);
    Function found = nullptr;
    static_assert(sizeof address == sizeof found);
    std::memcpy(&found, &address, sizeof found);
    return found;
  }

  /// Calls a function that not all drivers have. Returns whether it told something.
  template <typename... Parameters, typename... Arguments>
  bool ask(const char* symbol, int (*)(Parameters...), Arguments... arguments) const {
    const auto asked = function<int (*)(Parameters...)>(symbol);
    return asked != nullptr && asked(arguments...) == kSuccess;
  }

  bool find_all() {
    init = function<int (*)()>("nvmlInit_v2");
    shutdown = function<int (*)()>("nvmlShutdown");
    error_text = function<const char* (*)(int)>("nvmlErrorString");
    count = function<int (*)(unsigned*)>("nvmlDeviceGetCount_v2");
    by_index = function<int (*)(unsigned, Gpu*)>("nvmlDeviceGetHandleByIndex_v2");
    pci_info = function<int (*)(Gpu, DriverPciInfo*)>("nvmlDeviceGetPciInfo_v3");
    name = function<int (*)(Gpu, char*, unsigned)>("nvmlDeviceGetName");
    driver_version = function<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    cuda_version = function<int (*)(int*)>("nvmlSystemGetCudaDriverVersion_v2");
    return init && shutdown && error_text && count && by_index && pci_info && name &&
           driver_version && cuda_version;
  }
};

/// Reads one GPU, a question at a time. What the driver does not tell stays missing.
class GpuSurvey {
 public:
  GpuSurvey(const DriverLibrary& driver, Gpu gpu, GpuReading& reading)
      : driver_{driver}, gpu_{gpu}, reading_{reading} {}

  void read() {
    read_name();
    read_memory();
    read_processes();
    read_errors();
    read_state();
    read_links();
  }

 private:
  using Number = int (*)(Gpu, unsigned*);

  void read_name() {
    DriverPciInfo info{};
    std::array<char, 96> name{};
    if (driver_.pci_info(gpu_, &info) == kSuccess)
      reading_.bus_id = plain_bus_id({info.bus_id, ::strnlen(info.bus_id, sizeof info.bus_id)});
    if (driver_.name(gpu_, name.data(), name.size()) == kSuccess)
      reading_.model.assign(name.data(), ::strnlen(name.data(), name.size()));
  }

  void read_memory() {
    DriverMemory memory;
    if (!driver_.ask("nvmlDeviceGetMemoryInfo_v2",
                     static_cast<int (*)(Gpu, DriverMemory*)>(nullptr), gpu_, &memory))
      return;
    reading_.memory_bytes = static_cast<std::int64_t>(memory.total);
    reading_.used_bytes = static_cast<std::int64_t>(memory.used);
  }

  void read_processes() {
    std::array<DriverProcess, kProcessesMax> processes{};
    unsigned count = kProcessesMax;
    if (!driver_.ask("nvmlDeviceGetComputeRunningProcesses_v3",
                     static_cast<int (*)(Gpu, unsigned*, DriverProcess*)>(nullptr), gpu_, &count,
                     processes.data()))
      return;
    constexpr Wide kNotKnown = ~Wide{0};  // NVML_VALUE_NOT_AVAILABLE
    for (unsigned i = 0; i < std::min(count, kProcessesMax); ++i) {
      const DriverProcess& process = processes[i];
      std::string name = kernel_text(fmt::format("/proc/{}/comm", process.pid));
      name.erase(std::min(name.find('\n'), name.size()));
      const Wide bytes = process.used_bytes == kNotKnown ? 0 : process.used_bytes;
      reading_.processes.push_back({process.pid, name, static_cast<std::int64_t>(bytes)});
    }
  }

  void read_errors() {
    constexpr auto kCounter = static_cast<int (*)(Gpu, unsigned, unsigned, Wide*)>(nullptr);
    constexpr auto kRows =
        static_cast<int (*)(Gpu, unsigned*, unsigned*, unsigned*, unsigned*)>(nullptr);
    unsigned now = 0, later = 0;
    if (driver_.ask("nvmlDeviceGetEccMode",
                    static_cast<int (*)(Gpu, unsigned*, unsigned*)>(nullptr), gpu_, &now, &later))
      reading_.ecc = now != 0;
    Wide errors = 0;
    if (driver_.ask("nvmlDeviceGetTotalEccErrors", kCounter, gpu_, kUncorrected, kSinceDriverLoad,
                    &errors))
      reading_.uncorrected_errors = static_cast<std::int64_t>(errors);
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (driver_.ask("nvmlDeviceGetRemappedRows", kRows, gpu_, &corrected, &uncorrected, &pending,
                    &failed)) {
      reading_.repair_pending = pending != 0;
      reading_.repair_failed = failed != 0;
    } else if (driver_.ask("nvmlDeviceGetRetiredPagesPendingStatus", Number{}, gpu_, &pending)) {
      reading_.repair_pending = pending != 0;
    }
  }

  void read_state() {
    unsigned number = 0;
    if (driver_.ask("nvmlDeviceGetPersistenceMode", Number{}, gpu_, &number))
      reading_.persistent = number != 0;
    if (driver_.ask("nvmlDeviceGetTemperature",
                    static_cast<int (*)(Gpu, unsigned, unsigned*)>(nullptr), gpu_, kGpuSensor,
                    &number))
      reading_.celsius = static_cast<int>(number);
    Wide reasons = 0;
    if (!driver_.ask("nvmlDeviceGetCurrentClocksThrottleReasons",
                     static_cast<int (*)(Gpu, Wide*)>(nullptr), gpu_, &reasons))
      return;
    // Others, such as an idle GPU or its power limit, are no illness.
    constexpr std::pair<Wide, const char*> kIll[] = {
        {0x8, "hw_slowdown"}, {0x20, "sw_thermal"}, {0x40, "hw_thermal"}, {0x80, "hw_power_brake"}};
    for (const auto& [bit, word] : kIll)
      if ((reasons & bit) != 0) reading_.throttled.emplace_back(word);
  }

  void read_links() {
    constexpr auto kOfLink = static_cast<int (*)(Gpu, unsigned, unsigned*)>(nullptr);
    int links = 0, active = 0;
    for (unsigned link = 0; link < kNvlinksMax; ++link) {
      unsigned is_active = 0, type = 0;
      if (!driver_.ask("nvmlDeviceGetNvLinkState", kOfLink, gpu_, link, &is_active)) continue;
      ++links;
      if (is_active == 0) continue;
      ++active;
      if (driver_.ask("nvmlDeviceGetNvLinkRemoteDeviceType", kOfLink, gpu_, link, &type))
        reading_.nvswitch = reading_.nvswitch || type == kLinkToSwitch;
    }
    if (links == 0) return;
    reading_.nvlinks = links;
    reading_.nvlinks_active = active;
  }

  const DriverLibrary& driver_;
  Gpu gpu_;
  GpuReading& reading_;
};

void read_gpus(const DriverLibrary& driver, GpusReading& reading) {
  std::array<char, 96> version{};
  if (driver.driver_version(version.data(), version.size()) == kSuccess)
    reading.driver.assign(version.data(), ::strnlen(version.data(), version.size()));
  int cuda = 0;  // 12040 of 12.4
  if (driver.cuda_version(&cuda) == kSuccess)
    reading.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  unsigned count = 0;
  if (const int code = driver.count(&count); code != kSuccess)
    reading.error = driver.error_text(code);
  for (unsigned index = 0; index < std::min(count, kGpusMax); ++index) {
    Gpu gpu = nullptr;  // one that has fallen off the bus is missing in the list
    if (driver.by_index(index, &gpu) != kSuccess) continue;
    GpuReading& added = reading.gpus.emplace_back(GpuReading{.index = static_cast<int>(index)});
    GpuSurvey{driver, gpu, added}.read();
  }
}

}  // namespace

GpusReading ask_gpu_driver(const std::string& library) {
  GpusReading reading;
  DriverLibrary driver;
  driver.library.reset(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!driver.library) {
    reading.error = ::dlerror();
    return reading;
  }
  if (!driver.find_all()) {
    reading.error = "NVML lacks a function: the driver is too old";
    return reading;
  }
  if (const int code = driver.init(); code != kSuccess) {
    reading.error = driver.error_text(code);
    return reading;
  }
  read_gpus(driver, reading);
  driver.shutdown();
  return reading;
}

}  // namespace ddprun
