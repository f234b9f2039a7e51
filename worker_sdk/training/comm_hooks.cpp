#include "worker_sdk/training/comm_hooks.hpp"

#include <vector>

#include "worker_sdk/training/power_sgd.hpp"

namespace ddprun::sdk {

namespace {

/// Sends gradients in half of their bytes. It is _compress_hook of
/// torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py; LibTorch has it for float16 alone.
class CompressHook : public c10d::CppCommHookInterface<ProcessGroup> {
 public:
  CompressHook(const ProcessGroup& group, torch::ScalarType dtype)
      : CppCommHookInterface{group}, dtype_{dtype} {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const torch::Tensor buffer = bucket.getBuffer();
    // Divided before the sum, which could overflow.
    std::vector<torch::Tensor> compressed{buffer.to(dtype_).div_(state_.size())};
    const auto reduced = state_.c10d_group()->allreduce(compressed)->getFuture();
    // On a GPU, `then` runs on a stream that waits for the sum, and the backward pass for that.
    return reduced->then(
        [buffer](c10::ivalue::Future& sum) -> c10::IValue {
          return buffer.copy_(sum.value().toTensorVector().front());
        },
        c10::TensorType::get());
  }

 private:
  torch::ScalarType dtype_;
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> make_comm_hook(const DdpOptions& options,
                                                        const ProcessGroup& group) {
  switch (options.comm_hook) {
    case CommHook::kAllReduce:
      return nullptr;
    case CommHook::kFp16Compress:
      return std::make_unique<CompressHook>(group, torch::kFloat16);
    case CommHook::kBf16Compress:
      return std::make_unique<CompressHook>(group, torch::kBFloat16);
    case CommHook::kPowerSgd:
      return std::make_unique<PowerSgdHook>(group, options.power_sgd);
  }
  return nullptr;
}

}  // namespace ddprun::sdk
