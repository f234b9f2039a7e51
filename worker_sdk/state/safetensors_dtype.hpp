// The names of dtypes in safetensors files.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string_view>

namespace ddprun::sdk {

/// Returns the dtype that the format calls `name` ("F32"); nullopt for one that LibTorch lacks.
std::optional<torch::ScalarType> safetensors_dtype(std::string_view name);

}  // namespace ddprun::sdk
