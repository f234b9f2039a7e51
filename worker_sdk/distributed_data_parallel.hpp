// DistributedDataParallel: a module whose gradients are averaged over all workers while the
// backward pass still runs.
//
// The same algorithm as torch.nn.parallel.DistributedDataParallel, and the same code where it
// counts (c10d::Reducer): https://docs.pytorch.org/docs/stable/notes/ddp.html
#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "worker_sdk/process_group.hpp"

namespace c10d {
class Reducer;
}

namespace ddprun::sdk {

struct DdpOptions {
  double bucket_cap_mb = 25;            // gradients are reduced in buckets of this many MiB
  bool find_unused_parameters = false;  // some parameters get no gradient in some steps
  bool broadcast_buffers = true;        // rank 0's buffers (running means...) before every forward
};

/// What does not depend on the module's type.
class DdpCore {
 public:
  DdpCore(torch::nn::Module& module, const ProcessGroup& group, const DdpOptions& options);
  ~DdpCore();
  DdpCore(const DdpCore&) = delete;
  DdpCore& operator=(const DdpCore&) = delete;

  void before_forward();
  void after_forward(const std::vector<torch::Tensor>& outputs);
  void zero_grad();

 private:
  void broadcast_from_rank_0(std::vector<torch::Tensor> tensors);

  const ProcessGroup& group_;
  DdpOptions options_;
  std::vector<torch::Tensor> parameters_;  // those that need gradients
  std::vector<torch::Tensor> buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
};

/// Wraps `module`, which is on group.device() already and has the same parameters, in the same
/// order, on all ranks. Construction copies rank 0's parameters and buffers to everybody. Forward
/// and backward must be called equally often on all ranks. `group` must outlive it. Errors:
/// c10::Error when the ranks' parameters differ in number, shape or dtype.
template <typename Module>
class DistributedDataParallel {
 public:
  DistributedDataParallel(std::shared_ptr<Module> module, const ProcessGroup& group,
                          const DdpOptions& options = {})
      : module_{std::move(module)}, core_{*module_, group, options} {}

  /// The module's forward(), which returns one tensor. The backward() that follows leaves in every
  /// parameter's grad() the mean over all ranks.
  template <typename... Inputs>
  torch::Tensor forward(Inputs&&... inputs) {
    core_.before_forward();
    torch::Tensor output = module_->forward(std::forward<Inputs>(inputs)...);
    core_.after_forward({output});
    return output;
  }

  /// Call it in place of Optimizer::zero_grad(): gradients are views of the buckets that are
  /// reduced, which the optimizer cannot detach, so they are set to undefined.
  void zero_grad() { core_.zero_grad(); }

  Module& module() { return *module_; }

 private:
  std::shared_ptr<Module> module_;
  DdpCore core_;
};

}  // namespace ddprun::sdk
