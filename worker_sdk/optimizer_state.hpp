// What an optimizer has learned, as tensors with names, for checkpoints.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>

namespace ddprun::sdk {

/// SGD, Adam and AdamW. Names are "PARAMETER/FIELD" with the number of the parameter over all
/// groups and the field's name in PyTorch ("3/exp_avg"); a parameter that was never updated has
/// none. Errors: std::invalid_argument for another optimizer.
std::map<std::string, torch::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

/// Puts back what optimizer_state() returned for an optimizer of the same kind over the same
/// parameters; learning rates and the like stay as they are. Errors: std::invalid_argument.
void restore_optimizer_state(torch::optim::Optimizer& optimizer,
                             const std::map<std::string, torch::Tensor>& state);

}  // namespace ddprun::sdk
