// Asks NVIDIA's driver how its GPUs are, by the library that comes with it: NVML. The functions and
// numbers are those of https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <string>

#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Asks the driver in this process. It may take seconds, hang, or crash. What failed is in the
/// reading.
GpusReading ask_gpu_driver(const std::string& library);

}  // namespace ddprun
