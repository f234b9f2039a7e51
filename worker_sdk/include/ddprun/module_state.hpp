// The parameters and buffers of a module as tensors with names, for checkpoints and for exchange
// with Python.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

namespace ddprun::sdk {

/// Returns the parameters and buffers under the names of Python's state_dict()
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict).
/// The tensors are the module's own, not copies.
std::map<std::string, torch::Tensor> state_dict(const torch::nn::Module& module);

/// Copies `state` into the module's parameters and buffers, as Python's
/// load_state_dict(strict=True) does. Devices may differ, and dtypes are converted. Errors:
/// std::runtime_error, naming a tensor that the module or `state` lacks, or whose shapes differ;
/// the module is unchanged then.
void load_state_dict(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state);

}  // namespace ddprun::sdk
