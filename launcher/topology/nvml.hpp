// Asks NVIDIA's driver about its GPUs, by the library that comes with it: NVML. It is loaded when
// `ddprun topo` asks, and never for a job. The functions and numbers are those of
// https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <chrono>
#include <string>

#include "base/machine/nvml_library.hpp"
#include "base/result.hpp"
#include "launcher/topology/driver_facts.hpp"

namespace ddprun {

/// Asks the driver in this process. Errors: kNotFound when there is no such library or it lacks a
/// function, kUnavailable when the driver does not answer.
Result<DriverFacts> ask_nvml(const std::string& library = kNvmlLibrary);

/// Asks it in a process of its own, because a driver that is ill may never return, or crash.
/// Errors: as above; kTimeout when there is no answer in time, and that process is killed. To be
/// called while there is one thread.
Result<DriverFacts> ask_nvml_within(std::chrono::milliseconds timeout,
                                    const std::string& library = kNvmlLibrary);

}  // namespace ddprun
