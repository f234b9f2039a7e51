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

/// Returns which of `present` GPUs, in PCI bus order, CUDA_VISIBLE_DEVICES leaves, in the order in
/// which workers see them. Those that it names by UUID are left out: only the driver knows them.
std::vector<int> visible_indices(const EnvironmentLookup& environment, int present);

/// Counts the GPUs of this machine that CUDA_VISIBLE_DEVICES leaves, and for AMD's also
/// HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES.
int visible_gpus(const EnvironmentLookup& environment);

}  // namespace ddprun
