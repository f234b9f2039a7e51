// clip_grad_norm(): clips gradients whose parameters are spread over ranks.
#pragma once

#include <torch/torch.h>

#include <ddprun/process_group.hpp>
#include <vector>

namespace ddprun::sdk {

/// Scales the gradients of `parameters`, in place, so that their norm is `max_norm` at most, as
/// torch::nn::utils::clip_grad_norm_ does
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html). It is for
/// models of which each rank of `shards` holds other parameters (Pipeline): the norm is that of
/// them all. All ranks of `shards` call it, before Optimizer::step() and after
/// GradScaler::unscale(). Returns the norm that the gradients had before. Errors:
/// CommunicationError.
///
/// After DDP's backward() every rank has all gradients, so LibTorch's own function is right there,
/// also with a ZeroRedundancyOptimizer.
double clip_grad_norm(const std::vector<torch::Tensor>& parameters, double max_norm,
                      const ProcessGroup& shards);

}  // namespace ddprun::sdk
