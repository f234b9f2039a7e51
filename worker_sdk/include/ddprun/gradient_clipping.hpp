// Clips gradients: clip_grad_norm_() those of one model, clip_grad_norm() those of a model whose
// parameters are spread over ranks.
#pragma once

#include <torch/torch.h>

#include <ddprun/process_group.hpp>
#include <vector>

namespace ddprun::sdk {

/// Scales the gradients of `parameters`, in place, so that their norm is `max_norm` at most, and
/// returns the norm that they had before, as a scalar on the device of the first of them. It is
/// Python's torch.nn.utils.clip_grad_norm_
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html): a few
/// kernels for all gradients, and the host waits for none, where LibTorch's starts one for each
/// parameter and waits. `norm_type` may be infinity. After DDP's backward() it is right on each
/// rank, also with a ZeroRedundancyOptimizer. Call it after GradScaler::unscale(). Errors:
/// std::runtime_error for a norm that is inf or NaN, if `error_if_nonfinite`; it waits then.
torch::Tensor clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                              double norm_type = 2, bool error_if_nonfinite = false);

/// Scales the gradients of `parameters`, in place, so that their norm is `max_norm` at most, as
/// torch::nn::utils::clip_grad_norm_ does
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html). It is for
/// models of which each rank of `shards` holds other parameters (Pipeline): the norm is that of
/// them all. All ranks of `shards` call it, before Optimizer::step() and after
/// GradScaler::unscale(). Returns the norm that the gradients had before. Errors:
/// CommunicationError.
///
/// After DDP's backward() every rank has all gradients: clip_grad_norm_() is for that.
double clip_grad_norm(const std::vector<torch::Tensor>& parameters, double max_norm,
                      const ProcessGroup& shards);

}  // namespace ddprun::sdk
