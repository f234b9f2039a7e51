// SGD, Adam and AdamW that update all parameters in one kernel, or a few.
//
// They are Python's with fused=True (https://docs.pytorch.org/docs/stable/optim.html), on the same
// kernels: at::_fused_sgd_, at::_fused_adam_ and at::_fused_adamw_, for GPUs and CPUs. LibTorch's
// own optimizers start several small kernels for each parameter.
//
// Each is one of LibTorch's optimizers, with its options and state. So ZeroRedundancyOptimizer,
// LRScheduler, GradScaler and Checkpointer take it, and checkpoints go to and fro between the two,
// and between C++ and Python. Parameters are of a floating dtype, gradients are not sparse: step()
// throws std::invalid_argument else.
#pragma once

#include <torch/torch.h>

#include <ddprun/fused_step.hpp>

namespace ddprun::sdk {

/// torch.optim.SGD(fused=True).
class FusedSGD : public torch::optim::SGD, public FusedStep {
 public:
  using SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void step_scaled(const torch::Tensor& grad_scale, const torch::Tensor& found_inf) override;
};

/// torch.optim.Adam(fused=True).
class FusedAdam : public torch::optim::Adam, public FusedStep {
 public:
  using Adam::Adam;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void step_scaled(const torch::Tensor& grad_scale, const torch::Tensor& found_inf) override;
  void save(torch::serialize::OutputArchive& archive) const override;
};

/// torch.optim.AdamW(fused=True).
class FusedAdamW : public torch::optim::AdamW, public FusedStep {
 public:
  using AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
  void step_scaled(const torch::Tensor& grad_scale, const torch::Tensor& found_inf) override;
  void save(torch::serialize::OutputArchive& archive) const override;
};

}  // namespace ddprun::sdk
