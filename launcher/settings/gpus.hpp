// Counts the GPUs that a worker of this node would see. No driver library is loaded: the device
// files tell, and the variables with which users and schedulers hide devices.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace ddprun {

/// Counts NVIDIA's GPUs (dev/nvidia0, ...), or where there are none AMD's (nodes with SIMDs in
/// sys/class/kfd).
int count_gpus(const std::filesystem::path& dev = "/dev",
               const std::filesystem::path& sys = "/sys");

/// Returns those entries of a list like CUDA_VISIBLE_DEVICES that count: as CUDA reads it, they end
/// before the first that names none of `present` devices
/// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables).
std::vector<std::string> visible_devices(const std::string& list, int present);

/// Returns the number in such an entry; nullopt where the entry is a name.
std::optional<int> device_index(const std::string& entry);

/// Counts the GPUs of this machine that CUDA_VISIBLE_DEVICES leaves, and for AMD's also
/// HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES.
int visible_gpus(const EnvironmentLookup& environment);

}  // namespace ddprun
