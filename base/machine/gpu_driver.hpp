// What NVIDIA's driver tells of its GPUs, asked by the library that comes with it: NVML. The
// functions and numbers are those of https://docs.nvidia.com/deploy/nvml-api/
//
// Each question may take seconds, hang, or crash: ask in a process of its own. gpu_fields.hpp says
// how the answer goes through a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/nvml_library.hpp"

namespace ddprun {

struct GpuProcess {
  std::int64_t pid = 0;
  std::string name;
  std::int64_t bytes = 0;
};

/// A GPU of NVIDIA as its driver describes it.
struct GpuReading {
  int index = 0;
  std::string bus_id;
  std::string model;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> used_bytes;  // by all processes together
  std::vector<GpuProcess> processes;
  std::optional<bool> persistent;  // the driver stays loaded while the GPU is unused
  std::optional<bool> ecc;
  std::optional<std::int64_t> uncorrected_errors;  // memory errors since the driver was loaded
  std::optional<bool>
      repair_pending;                 // rows or pages of its memory wait for a reset to be replaced
  std::optional<bool> repair_failed;  // there was nothing left to replace them with
  std::vector<std::string> throttled;  // "hw_thermal", ...: the reasons that slow it down now
  std::optional<int> celsius;
  std::optional<int> nvlinks;         // those that could be up
  std::optional<int> nvlinks_active;  // those that are up
  bool nvswitch = false;              // its NVLinks lead to switches
  // Only ask_gpu_links() tells these.
  std::optional<int> links_to_switches;  // its NVLinks that end at an NVSwitch
  std::vector<std::string> peers;  // bus ids at the ends of its other NVLinks, one for each link
};

/// How two GPUs are joined by PCI, in the words of `nvidia-smi topo -m`: "PIX".
struct GpuWay {
  std::string first, second;  // their bus ids
  std::string way;
};

struct GpusReading {
  std::optional<int> on_bus;   // GPUs of NVIDIA that the PCI bus has, for whomever they are
  std::optional<int> present;  // GPUs whose device file this process may open
  std::string driver;          // "550.54.15"
  std::string cuda;            // the newest CUDA that the driver can run: "12.4"
  std::string error;           // why the driver told nothing
  std::vector<GpuReading> gpus;
  std::vector<GpuWay> ways;
};

/// How the GPUs are: their memory, processes, errors and state. What failed is in the reading.
GpusReading ask_gpu_driver(const std::string& library = kNvmlLibrary);

/// Which GPUs there are, and how they are joined: NVLinks, and the ways between them. GPUs without
/// a bus id are left out: the kernel's files tell that they are there.
GpusReading ask_gpu_links(const std::string& library = kNvmlLibrary);

}  // namespace ddprun
