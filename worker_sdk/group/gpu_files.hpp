// What the file system says of NVIDIA's GPUs, without CUDA: a process that has asked CUDA how many
// there are must not fork any more.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ddprun::sdk {

/// Whether this process has initialised CUDA: the driver keeps its device files open. `files` has a
/// link for each open file (proc(5)).
bool has_initialised_cuda(const std::filesystem::path& files = "/proc/self/fd");

/// Whether there is a driver.
bool has_gpu_driver();

/// Counts the GPUs whose device files (nvidia0, nvidia1...) are in `devices`; of these, those that
/// `chosen`, the value of CUDA_VISIBLE_DEVICES, names.
int count_gpus(const std::filesystem::path& devices, const std::optional<std::string>& chosen);

}  // namespace ddprun::sdk
