// data_parallel(): one batch on several devices of one process.
//
// The same as torch.nn.parallel.data_parallel
// (https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html). LibTorch's own
// function of that name takes GPUs only and tells little when something does not fit. As PyTorch
// says there: DistributedDataParallel is faster, also on one machine.
#pragma once

#include <torch/nn/parallel/data_parallel.h>
#include <torch/torch.h>

#include <memory>
#include <optional>
#include <vector>

namespace ddprun::sdk {

struct DataParallelOptions {
  /// Empty: all GPUs. A device may be given more than once.
  std::vector<torch::Device> devices = {};
  /// Where the result goes; else the first device.
  std::optional<torch::Device> output_device = {};
  /// The dimension of input and output that is cut into parts: the batch.
  std::int64_t dim = 0;
};

/// The devices of `options`. Errors: std::invalid_argument when there are none; when the module's
/// parameters and buffers are not on the first one; when `input` has no such dimension, or is empty
/// there.
std::vector<torch::Device> data_parallel_devices(const torch::nn::Module& module,
                                                 const torch::Tensor& input,
                                                 const DataParallelOptions& options);

/// module->forward(input), with the batch in about equal parts, one for each device (fewer when the
/// batch is smaller), computed at the same time. backward() adds the gradients of all parts in the
/// parameters of `module`. Changes of buffers (running means) in the copies are lost.
///
/// `module` is a torch::nn::Cloneable with a forward() from one tensor to one tensor, whose
/// dimension `dim` belongs to the batch. Errors: those of data_parallel_devices(); what forward()
/// throws.
template <typename Module>
torch::Tensor data_parallel(const std::shared_ptr<Module>& module, const torch::Tensor& input,
                            const DataParallelOptions& options = {}) {
  namespace parallel = torch::nn::parallel;
  std::vector<torch::Device> devices = data_parallel_devices(*module, input, options);
  const torch::Device output_device = options.output_device.value_or(devices.front());
  std::vector<torch::Tensor> parts =
      input.chunk(static_cast<std::int64_t>(devices.size()), options.dim);
  devices.resize(parts.size(), devices.front());  // a small batch does not need all of them
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].to(devices[i]);
  if (parts.size() == 1) return module->forward(parts.front()).to(output_device);
  auto replicas = parallel::replicate(module, devices);
  std::vector<torch::Tensor> outputs = parallel::parallel_apply(replicas, parts, devices);
  for (torch::Tensor& output : outputs) output = output.to(output_device);
  const torch::Tensor whole = torch::cat(outputs, options.dim);
  // The threads of parallel_apply() know nothing of this thread's NoGradGuard.
  return torch::GradMode::is_enabled() ? whole : whole.detach();
}

}  // namespace ddprun::sdk
