// data_parallel(): computes one batch on several devices of one process.
//
// It is torch.nn.parallel.data_parallel
// (https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html). LibTorch's own
// function of that name takes GPUs only, and says little when something does not fit.
// DistributedDataParallel is faster, also on one machine, as PyTorch says there.
#pragma once

#include <torch/torch.h>

// LibTorch's own header for it includes CUDA's, so there is none of this with a LibTorch for the
// CPU alone, nor without CUDA's headers.
#if defined(USE_C10D_NCCL) && __has_include(<cuda_runtime_api.h>)
#define DDPRUN_HAS_DATA_PARALLEL
#include <torch/nn/parallel/data_parallel.h>
#endif

#include <memory>
#include <optional>
#include <vector>

namespace ddprun::sdk {

/// Where and how the batch is computed.
struct DataParallelOptions {
  /// The devices; all GPUs when it is empty. A device may be given more than once.
  std::vector<torch::Device> devices = {};
  /// The device of the result; the first one when it is not set.
  std::optional<torch::Device> output_device = {};
  /// The dimension of input and output that is cut into parts, which is that of the batch.
  std::int64_t dim = 0;
};

/// Returns the devices of `options`, or all GPUs. Errors: std::invalid_argument when there are
/// none, when the module's parameters and buffers are not on the first one, and when `input` has no
/// dimension `options.dim`, or is empty there.
std::vector<torch::Device> data_parallel_devices(const torch::nn::Module& module,
                                                 const torch::Tensor& input,
                                                 const DataParallelOptions& options);

#ifdef DDPRUN_HAS_DATA_PARALLEL
/// Returns module->forward(input), computed at the same time on all devices, each of which has a
/// copy of the module and an about equal part of the batch; a small batch does not use all of them.
/// backward() adds the gradients of all parts in the parameters of `module`. Changes of buffers
/// (running means) in the copies are lost.
///
/// `module` is a torch::nn::Cloneable whose forward() takes one tensor and returns one; dimension
/// `dim` of both belongs to the batch. Errors: those of data_parallel_devices(); what forward()
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
#endif

}  // namespace ddprun::sdk
