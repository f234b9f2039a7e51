// What GradScaler and checkpoints know of fused optimizers (fused_optimizers.hpp).
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>

namespace ddprun::sdk {

/// An optimizer whose kernels divide by GradScaler's scale themselves, and leave out a step whose
/// gradients are inf or NaN.
class FusedStep {
 public:
  virtual ~FusedStep() = default;

  /// As Optimizer::step(), with gradients that are `grad_scale` times too big. It changes nothing
  /// when `found_inf` is not 0. Both are float32 scalars; the host does not wait for them.
  virtual void step_scaled(const torch::Tensor& grad_scale, const torch::Tensor& found_inf) = 0;
};

/// The number of a parameter's steps where kernels count them: a float32 scalar on its device, as
/// in Python.
struct StepTensor {
  torch::Tensor steps;
};

/// What a fused optimizer keeps of a parameter: ParamState is LibTorch's, whose step() is not
/// counted.
template <typename ParamState>
class FusedParamState : public ParamState, public StepTensor {
  std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
    return std::make_unique<FusedParamState>(*this);
  }
};

}  // namespace ddprun::sdk
