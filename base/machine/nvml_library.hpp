// NvmlLibrary: NVIDIA's NVML, loaded and initialised, and the functions of it that are called. Its
// functions, structs and numbers are those of https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace ddprun {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

using NvmlGpu = void*;  // nvmlDevice_t
using NvmlWide = unsigned long long;
inline constexpr unsigned kNvmlGpusMax = 64;
inline constexpr unsigned kNvlinksMax = 64;  // NVML_NVLINK_MAX_LINKS is 36 with the newest headers
inline constexpr unsigned kNvlinkToSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH

/// nvmlPciInfo_t
struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

/// nvmlMemory_v2_t. It tells what the driver keeps for itself apart from what is used.
struct NvmlMemory {
  unsigned version = sizeof(NvmlMemory) | (2U << 24);
  NvmlWide total = 0, reserved = 0, free = 0, used = 0;
};

/// nvmlUtilization_t: how much of the last second or less the GPU has computed, and its memory was
/// read or written.
struct NvmlUse {
  unsigned gpu_percent = 0, memory_percent = 0;
};

/// nvmlProcessInfo_t
struct NvmlProcess {
  unsigned pid;
  NvmlWide used_bytes;
  unsigned gpu_instance, compute_instance;
};

/// A function by its name, and what it takes.
template <typename... Parameters>
struct NvmlFunction {
  const char* symbol;
};

namespace nvml {

inline constexpr NvmlFunction<unsigned*> kGpuCount{"nvmlDeviceGetCount_v2"};
inline constexpr NvmlFunction<unsigned, NvmlGpu*> kGpuByIndex{"nvmlDeviceGetHandleByIndex_v2"};
inline constexpr NvmlFunction<NvmlGpu, NvmlPciInfo*> kPciInfo{"nvmlDeviceGetPciInfo_v3"};
inline constexpr NvmlFunction<NvmlGpu, char*, unsigned> kName{"nvmlDeviceGetName"};
inline constexpr NvmlFunction<char*, unsigned> kDriverVersion{"nvmlSystemGetDriverVersion"};
inline constexpr NvmlFunction<int*> kCudaVersion{"nvmlSystemGetCudaDriverVersion_v2"};
inline constexpr NvmlFunction<NvmlGpu, NvmlGpu, unsigned*> kCommonAncestor{
    "nvmlDeviceGetTopologyCommonAncestor"};
inline constexpr NvmlFunction<NvmlGpu, unsigned, unsigned*> kLinkState{"nvmlDeviceGetNvLinkState"};
inline constexpr NvmlFunction<NvmlGpu, unsigned, NvmlPciInfo*> kLinkPeer{
    "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
inline constexpr NvmlFunction<NvmlGpu, unsigned, unsigned*> kLinkPeerType{
    "nvmlDeviceGetNvLinkRemoteDeviceType"};
inline constexpr NvmlFunction<NvmlGpu, NvmlMemory*> kMemory{"nvmlDeviceGetMemoryInfo_v2"};
inline constexpr NvmlFunction<NvmlGpu, NvmlUse*> kUse{"nvmlDeviceGetUtilizationRates"};
inline constexpr NvmlFunction<NvmlGpu, unsigned*, NvmlProcess*> kProcesses{
    "nvmlDeviceGetComputeRunningProcesses_v3"};
inline constexpr NvmlFunction<NvmlGpu, unsigned*, unsigned*> kEccMode{"nvmlDeviceGetEccMode"};
inline constexpr NvmlFunction<NvmlGpu, unsigned, unsigned, NvmlWide*> kEccErrors{
    "nvmlDeviceGetTotalEccErrors"};
inline constexpr NvmlFunction<NvmlGpu, unsigned*, unsigned*, unsigned*, unsigned*> kRemappedRows{
    "nvmlDeviceGetRemappedRows"};
inline constexpr NvmlFunction<NvmlGpu, unsigned*> kRetiredPagesPending{
    "nvmlDeviceGetRetiredPagesPendingStatus"};
inline constexpr NvmlFunction<NvmlGpu, unsigned*> kPersistence{"nvmlDeviceGetPersistenceMode"};
inline constexpr NvmlFunction<NvmlGpu, unsigned, unsigned*> kTemperature{
    "nvmlDeviceGetTemperature"};
inline constexpr NvmlFunction<NvmlGpu, NvmlWide*> kThrottleReasons{
    "nvmlDeviceGetCurrentClocksThrottleReasons"};

}  // namespace nvml

/// A GPU as the driver lists it.
struct NvmlListed {
  unsigned index = 0;
  NvmlGpu gpu = nullptr;
  std::string bus_id;  // as the kernel writes it; "": not told
  std::string model;   // "NVIDIA H100 80GB HBM3"; "": not told
};

class NvmlLibrary {
 public:
  /// Loads and initialises it. Errors: kNotFound when there is no such library or it lacks a
  /// function that all drivers have, kUnavailable when the driver does not answer.
  static Result<NvmlLibrary> open(const std::string& path);

  NvmlLibrary(NvmlLibrary&&) noexcept = default;
  NvmlLibrary& operator=(NvmlLibrary&&) noexcept = default;

  /// Calls a function. Returns its code: 0 is success, and 13 says that the driver lacks it.
  template <typename... Parameters, typename... Arguments>
  int call(const NvmlFunction<Parameters...>& function, Arguments... arguments) const {
    using Called = int (*)(Parameters...);
    const auto called = find<Called>(function.symbol);
    return called == nullptr ? kFunctionNotFound : called(arguments...);
  }

  /// Calls a function. Returns whether the driver answered.
  template <typename... Parameters, typename... Arguments>
  bool ask(const NvmlFunction<Parameters...>& function, Arguments... arguments) const {
    return call(function, arguments...) == kSuccess;
  }

  /// All GPUs but those that are ill: one that has fallen off the bus is missing. Errors:
  /// kUnavailable, in the driver's words.
  Result<std::vector<NvmlListed>> gpus() const;

  /// What a code means, in the driver's words.
  std::string error_text(int code) const;

 private:
  static constexpr int kSuccess = 0;
  static constexpr int kFunctionNotFound = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND

  struct Unload {
    void operator()(void* library) const;
  };

  explicit NvmlLibrary(void* library) : library_{library} {}

  void* address_of(const char* symbol) const;

  template <typename Function>
  Function find(const char* symbol) const {
    void* const address = address_of(symbol);
    Function function = nullptr;
    static_assert(sizeof address == sizeof function);
    std::memcpy(&function, &address, sizeof function);
    return function;
  }

  std::unique_ptr<void, Unload> library_;
};

/// Returns the text that a function has written into `characters`.
template <std::size_t N>
std::string text_in(const std::array<char, N>& characters) {
  return {characters.data(), ::strnlen(characters.data(), N)};
}

/// Returns the bus id as the kernel writes it.
std::string bus_id_of(const NvmlPciInfo& info);

}  // namespace ddprun
