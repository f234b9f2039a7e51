// Reads what the kernel tells in files, and NVIDIA's driver by its library: memory, limits of
// cgroups, CPUs, network, PCI bus, GPUs.
#pragma once

#include <filesystem>
#include <string>

#include "launcher/doctor/read/busy_processes.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Adds to `reading` what the files below `root`/proc and `root`/sys tell. Tests have copies there.
void read_kernel_files(const std::filesystem::path& root, NodeReading& reading);

/// Looks at the processes below `root`/proc that may be seen, but for this one.
ProcessesLook look_at_processes(const std::filesystem::path& root);

// Asks NVIDIA's driver how its GPUs are, by the library that comes with it: NVML. The functions and
// numbers are those of https://docs.nvidia.com/deploy/nvml-api/

/// Asks the driver in this process. It may take seconds, hang, or crash. What failed is in the
/// reading.
GpusReading ask_gpu_driver(const std::string& library);

}  // namespace ddprun
