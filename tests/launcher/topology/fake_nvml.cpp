// A library that looks like NVIDIA's NVML, for tests on machines without its driver: four GPUs, of
// which two are joined by 4 NVLinks each way and two hang on an NVSwitch with 6. FAKE_NVML in the
// environment makes it fail, hang or crash in nvmlInit_v2(). The last GPU is ill.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9;
constexpr unsigned kGpus = 4, kSwitch = 2;

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

using Wide = unsigned long long;

struct Memory {  // nvmlMemory_v2_t
  unsigned version;
  Wide total, reserved, free, used;
};

struct Process {  // nvmlProcessInfo_t
  unsigned pid;
  Wide used_bytes;
  unsigned gpu_instance, compute_instance;
};

char handles[kGpus];

unsigned index_of(void* gpu) { return static_cast<unsigned>(static_cast<char*>(gpu) - handles); }

bool is_ill(void* gpu) { return index_of(gpu) == kGpus - 1; }

void tell_bus(unsigned bus, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  info->bus = bus;
  std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", bus);
}

}  // namespace

extern "C" {
int nvmlInit_v2() {
  const char* mood = std::getenv("FAKE_NVML");
  const std::string wish = mood == nullptr ? "" : mood;
  if (wish == "hang")
    for (;;) ::pause();
  if (wish == "crash") std::abort();
  return wish == "fail" ? kDriverNotLoaded : kSuccess;
}
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kGpus;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  if (index >= kGpus) return kInvalidArgument;
  *gpu = handles + index;
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void* gpu, PciInfo* info) {
  tell_bus(0x1A + index_of(gpu), info);
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "NVIDIA Test");
  return kSuccess;
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, unsigned* level) {
  *level = index_of(a) / 2 == index_of(b) / 2 ? 20 : 50;
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(void* gpu, unsigned link, unsigned* active) {
  if (link >= 12) return kNotSupported;
  *active = link < (index_of(gpu) < 2 ? 4U : 6U) ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* gpu, unsigned, PciInfo* info) {
  tell_bus(index_of(gpu) < 2 ? 0x1A + (1 - index_of(gpu)) : 0xC4, info);
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* gpu, unsigned, unsigned* type) {
  *type = index_of(gpu) < 2 ? 0 : kSwitch;
  return kSuccess;
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::snprintf(version, length, "550.54.15");
  return kSuccess;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12040;
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo_v2(void*, Memory* memory) {
  if (memory->version != (sizeof *memory | (2U << 24))) return kInvalidArgument;
  memory->total = 80'000'000'000;
  memory->used = 1'000'000;
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void* gpu, unsigned* percents) {
  percents[0] = is_ill(gpu) ? 0 : 100;
  percents[1] = 0;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* gpu, unsigned* count, Process* processes) {
  if (*count == 0) return kInvalidArgument;
  *count = is_ill(gpu) ? 1 : 0;
  if (is_ill(gpu)) processes[0] = {static_cast<unsigned>(::getpid()), 900'000, 0, 0};
  return kSuccess;
}
int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* later) {
  *now = *later = 1;
  return kSuccess;
}
int nvmlDeviceGetTotalEccErrors(void* gpu, unsigned type, unsigned counter, Wide* errors) {
  if (type != 1 || counter != 0) return kInvalidArgument;
  *errors = is_ill(gpu) ? 2 : 0;
  return kSuccess;
}
int nvmlDeviceGetRemappedRows(void* gpu, unsigned*, unsigned*, unsigned* pending,
                              unsigned* failed) {
  *pending = is_ill(gpu) ? 1 : 0;
  *failed = 0;
  return kSuccess;
}
int nvmlDeviceGetPersistenceMode(void*, unsigned* mode) {
  *mode = 1;
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* gpu, unsigned, unsigned* celsius) {
  *celsius = is_ill(gpu) ? 92 : 35;
  return kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* gpu, Wide* reasons) {
  *reasons = is_ill(gpu) ? 0x48 : 0x1;  // slowed down by heat; idle
  return kSuccess;
}
}
