// An optimizer's state as tensors with names, and its options as text, for checkpoints.
//
// Together they are what Python's Optimizer.state_dict() holds
// (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html).
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace ddprun::sdk {

/// The name under which the metadata of a safetensors file hold optimizer_options().
inline constexpr char kParamGroups[] = "param_groups";

/// Returns the state of an SGD, Adam, AdamW, RMSprop or Adagrad. A name is "PARAMETER/FIELD", from
/// the parameter's number over all groups and the field's name in PyTorch ("3/exp_avg"); a
/// parameter that was never updated has no fields. The tensors are the optimizer's own, not copies;
/// "step" is a new int64 scalar, of a fused optimizer its own float32 one. Errors:
/// std::invalid_argument for another optimizer.
std::map<std::string, torch::Tensor> optimizer_state(const torch::optim::Optimizer& optimizer);

/// Puts back what optimizer_state() returned for an optimizer of the same kind over the same
/// parameters. The tensors are copied to `device` or, where that is not set, to the devices of
/// their parameters, which the optimizer's next step needs. Errors: std::invalid_argument when
/// fields or shapes do not fit, or for another optimizer; `optimizer` is unchanged then.
void restore_optimizer_state(torch::optim::Optimizer& optimizer,
                             const std::map<std::string, torch::Tensor>& state,
                             std::optional<torch::Device> device = {});

/// Returns a JSON list with one object for each group of parameters: its learning rate and other
/// options under their names in Python, "fused" if it is, and under "params" the numbers of its
/// parameters. Errors:
/// std::invalid_argument for an optimizer that optimizer_state() does not know.
std::string optimizer_options(const torch::optim::Optimizer& optimizer);

/// Puts back what optimizer_options() returned, as Python's load_state_dict() does: set the
/// learning rate afterwards if it is to be another one. Errors: std::invalid_argument when the
/// groups do not fit those of `optimizer`, which is unchanged then.
void restore_optimizer_options(torch::optim::Optimizer& optimizer, const std::string& options);

/// Returns about how many bytes optimizer_state() will hold when every parameter has been updated.
std::size_t expected_state_bytes(const torch::optim::Optimizer& optimizer);

}  // namespace ddprun::sdk
