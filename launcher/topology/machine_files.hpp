// Reads a machine from the kernel's files, and asks NVIDIA's driver about its GPUs.
//
// hwloc would do that, too. It is not used because it costs too much: its library
// takes 0.4 MB of an executable that may have 6, and to load a machine of two CPUs takes it 9 ms
// and 1,100 system calls. --numa-binding reads the CPUs at the start of each job, and `ddprun topo`
// has to say what that does, so both use one reader. A test compares it with hwloc's `lstopo`.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "base/machine/gpu_driver.hpp"
#include "base/result.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

/// Reads this machine, without its driver's facts. Errors: those of read_topology(); kInvalid when
/// there are more than kDevicesMax devices.
Result<Machine> read_this_machine();

/// Reads a machine that tests know from a folder with copies of /sys and, where there is one, of
/// /proc, as hwloc-gather-topology(1) makes them. All its CPUs count as usable. A GPU is a worker's
/// where proc/driver/nvidia lists it, or, if that is missing, where its driver is NVIDIA's. Errors:
/// as above, and kInvalid when there is no `folder`/sys.
Result<Machine> read_recorded_machine(const std::filesystem::path& folder);

/// Asks NVIDIA's driver how its GPUs are joined, in a process of its own, because a driver that is
/// ill may never return, or crash. Errors: kUnavailable, as the driver or its library says;
/// kTimeout when there is no answer in time, and that process is killed. To be called while there
/// is one thread.
Result<GpusReading> ask_driver_within(std::chrono::milliseconds timeout,
                                      const std::string& library = kNvmlLibrary);

}  // namespace ddprun
