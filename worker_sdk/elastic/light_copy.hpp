// LightCopy: what a forward pass changes in a model beside its gradients: its buffers, such as
// running means.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace ddprun::sdk {

/// Buffers as the last counted step has left them, so that a step that is dropped leaves no trace.
/// All of them are copied each time: a batch norm changes its running means without a new version
/// of the tensor.
class LightCopy {
 public:
  explicit LightCopy(const std::vector<torch::nn::Module*>& modules);

  /// A step was counted.
  void take();
  /// The current step is dropped.
  void put_back();

 private:
  std::vector<torch::Tensor> buffers_;
  std::vector<torch::Tensor> copies_;
};

}  // namespace ddprun::sdk
