// SyncBatchNorm: batch normalization over the batches of all ranks, for batches that are too small
// on one device.
//
// It is torch.nn.SyncBatchNorm
// (https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html), with the same
// parameters and buffers, so checkpoints interchange, also with those of a BatchNorm. Unlike
// Python's it works on the CPU, too.
#pragma once

#include <torch/torch.h>

#include <ddprun/process_group.hpp>
#include <ostream>

namespace ddprun::sdk {

/// Normalizes inputs of [N, C, ...] by mean and variance of all ranks' inputs, for each of the C
/// channels. Ranks may have different N, also 0; what else they have is the same. Statistics are in
/// float32 (float64 for float64), whatever the input's dtype.
///
/// In training, all ranks of the group call forward() and backward() equally often, and in the same
/// order as their other collectives, which DDP sees to. The gradients of weight and bias are of
/// this rank's inputs, and DDP averages them as it does with others. In evaluation nothing is sent.
///
/// It takes the place of a BatchNorm1d, 2d or 3d as a member of a module.
/// DistributedDataParallel::join() refuses modules that have one: a rank without inputs would not
/// take part.
class SyncBatchNormImpl
    : public torch::nn::NormImplBase<1, SyncBatchNormImpl, torch::nn::BatchNormOptions> {
 public:
  /// The options are those of LibTorch's BatchNorm: eps, momentum (nullopt: the plain mean of all
  /// batches), affine, track_running_stats.
  SyncBatchNormImpl(const torch::nn::BatchNormOptions& chosen, const ProcessGroup& group);

  /// Returns a tensor of the input's shape and dtype. Errors: std::invalid_argument for an input
  /// with fewer than two dimensions or another number of channels; CommunicationError.
  torch::Tensor forward(const torch::Tensor& input);

  void pretty_print(std::ostream& stream) const override;

 protected:
  void _check_input_dim(const torch::Tensor& input) override;

 private:
  double count_batch();
  torch::Tensor normalize(const torch::Tensor& input, double momentum);

  ProcessGroup group_;
};
TORCH_MODULE(SyncBatchNorm);

}  // namespace ddprun::sdk
