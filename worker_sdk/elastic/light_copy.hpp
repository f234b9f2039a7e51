// LightCopy: what a forward pass changes in a model beside its gradients: its buffers, such as
// running means.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace ddprun::sdk {

/// Buffers as the last counted step has left them, so that a step that is dropped leaves no trace.
class LightCopy {
 public:
  explicit LightCopy(const std::vector<torch::nn::Module*>& modules);

  /// A step was counted. Only what has changed since the last time is copied.
  void take();
  /// The step that is under way is dropped.
  void put_back();

 private:
  struct Buffer {
    torch::Tensor tensor;
    torch::Tensor copy;
    std::uint32_t version = 0;  // the tensor's, when it was copied
  };

  std::vector<Buffer> buffers_;
};

}  // namespace ddprun::sdk
