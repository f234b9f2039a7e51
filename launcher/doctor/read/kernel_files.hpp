// Reads what the kernel tells in files: memory, limits of cgroups, CPUs, network, PCI bus.
#pragma once

#include <filesystem>

#include "launcher/doctor/read/busy_processes.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Adds to `reading` what the files below `root`/proc and `root`/sys tell. Tests have copies there.
void read_kernel_files(const std::filesystem::path& root, NodeReading& reading);

/// Looks at the processes below `root`/proc that may be seen, but for this one.
ProcessesLook look_at_processes(const std::filesystem::path& root);

}  // namespace ddprun
