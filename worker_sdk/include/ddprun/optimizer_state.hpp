// What an optimizer has learned, and how it is set, as tensors with names and text, for
// checkpoints.
//
// Together what Python's Optimizer.state_dict() holds
// (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html).
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <map>
#include <string>

namespace ddprun::sdk {

/// The name under which a safetensors file's metadata have optimizer_options().
inline constexpr char kParamGroups[] = "param_groups";

/// SGD, Adam, AdamW, RMSprop and Adagrad. Names are "PARAMETER/FIELD" with the number of the
/// parameter over all groups and the field's name in PyTorch ("3/exp_avg"); a parameter that was
/// never updated has none. Errors: std::invalid_argument for another optimizer.
std::map<std::string, torch::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

/// Puts back what optimizer_state() returned for an optimizer of the same kind over the same
/// parameters. Errors: std::invalid_argument; the optimizer is unchanged then.
void restore_optimizer_state(torch::optim::Optimizer& optimizer,
                             const std::map<std::string, torch::Tensor>& state);

/// JSON: of each group of parameters its learning rate and other options, by their names in Python,
/// and under "params" the numbers of its parameters. Errors: std::invalid_argument as above.
std::string optimizer_options(const torch::optim::Optimizer& optimizer);

/// Puts back what optimizer_options() returned, as load_state_dict() does in Python: set the
/// learning rate afterwards if it is to be another one. Errors: std::invalid_argument when the
/// groups do not fit the optimizer's; it is unchanged then.
void restore_optimizer_options(torch::optim::Optimizer& optimizer, const std::string& options);

/// About how many bytes optimizer_state() will hold when every parameter has been updated.
std::size_t expected_state_bytes(const torch::optim::Optimizer& optimizer);

}  // namespace ddprun::sdk
