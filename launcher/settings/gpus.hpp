// Counts the GPUs that a worker of this node would see. No driver library is loaded: the device
// files tell, and the variables with which users and schedulers hide devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace ddprun {

/// Returns which of `present` GPUs, in PCI bus order, CUDA_VISIBLE_DEVICES leaves, in the order in
/// which workers see them. Those that it names by UUID are left out: only the driver knows them.
std::vector<int> visible_indices(const EnvironmentLookup& environment, int present);

/// Returns what CUDA_VISIBLE_DEVICES lists, on a machine of which it is unknown how many GPUs it
/// has. nullopt: it is not set, so that all are visible.
std::optional<std::vector<std::string>> listed_gpus(const EnvironmentLookup& environment);

/// Counts the GPUs of this machine that CUDA_VISIBLE_DEVICES leaves, and for AMD's also
/// HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES.
int visible_gpus(const EnvironmentLookup& environment);

}  // namespace ddprun
