// How many GPUs a worker of this node would see, found without any driver library: from the device
// files and from the variables with which users and schedulers hide devices.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace ddprun {

/// NVIDIA's GPUs (dev/nvidia0, ...), or else AMD's (nodes with SIMDs in sys/class/kfd).
int count_gpus(const std::filesystem::path& dev = "/dev",
               const std::filesystem::path& sys = "/sys");

/// The entries of a list like CUDA_VISIBLE_DEVICES that count: up to the first that names no device
/// of `present`, as CUDA reads it
/// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables).
std::vector<std::string> visible_devices(const std::string& list, int present);

/// The number in such an entry; nullopt where it is a name.
std::optional<int> device_index(const std::string& entry);

/// The GPUs of this machine that CUDA_VISIBLE_DEVICES (for AMD's also HIP_VISIBLE_DEVICES and
/// ROCR_VISIBLE_DEVICES) leaves.
int visible_gpus(const EnvironmentLookup& environment);

}  // namespace ddprun
