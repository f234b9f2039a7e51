// Reads lists of GPUs as CUDA reads CUDA_VISIBLE_DEVICES
// (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables). No LibTorch,
// and no driver. Pure.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::sdk {

/// The number of GPUs if it is unknown.
inline constexpr int kAnyNumberOfGpus = std::numeric_limits<int>::max();

/// Returns those entries of the list that count: they end before the first that names no GPU, such
/// as -1, or the number of one that is not among `present`. The first entry decides whether all are
/// numbers, UUIDs (GPU-...) or MIG devices (MIG-...), which may be cut short and are taken for one
/// each. There are none where an entry is repeated, and in the empty list.
std::vector<std::string> visible_devices(std::string_view list, int present = kAnyNumberOfGpus);

/// Returns the number that such an entry begins with, as strtoul() would read it; nullopt where it
/// is a name.
std::optional<int> device_index(std::string_view entry);

}  // namespace ddprun::sdk
