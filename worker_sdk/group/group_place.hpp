// Which backends carry a group's tensors, and which device is this worker's.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <optional>
#include <string>

namespace ddprun::sdk {

/// Where a group's tensors may be.
struct TensorDevices {
  torch::Device device = torch::kCPU;  // the group's: a GPU with NCCL, the CPU with Gloo
  bool cpu_too = false;                // with NCCL: Gloo carries tensors on the CPU

  /// Whether it is NCCL that carries the tensor.
  bool by_nccl(const torch::Tensor& tensor) const { return device.is_cuda() && tensor.is_cuda(); }
};

/// Whether NCCL can send the dtype, or may be able to: float8 depends on the GPU. The list is that
/// of ncclDataType in torch/csrc/distributed/c10d/NCCLUtils.hpp. Pure.
bool nccl_has(torch::ScalarType dtype);

/// What there is to choose from.
struct VisibleGpus {
  int count = 0;                      // that this process sees
  std::optional<std::string> chosen;  // CUDA_VISIBLE_DEVICES
  bool has_driver = false;            // there is /dev/nvidiactl
};

/// Chooses for the worker `local_rank`, by the names of ProcessGroupOptions. If the environment
/// shows a single GPU to each worker (CUDA_VISIBLE_DEVICES names one, as with Slurm's
/// --gpus-per-task), that one is taken, whatever the local rank. Errors: std::invalid_argument for
/// a backend that is not known or lacks its device. Pure.
TensorDevices choose_devices(const std::string& backend, std::optional<torch::Device> device,
                             int local_rank, const VisibleGpus& gpus);

/// How long operations of such a group may take if it is not set: PyTorch's defaults
/// (default_pg_nccl_timeout and default_pg_timeout in torch/distributed/constants.py). Pure.
std::chrono::milliseconds default_timeout(const TensorDevices& devices);

/// Returns a warning where a driver is there and no GPU can be used, so that Gloo was chosen in
/// silence; "" where there is nothing to say. Pure.
std::string missing_gpu_warning(const std::string& backend, const VisibleGpus& gpus);

}  // namespace ddprun::sdk
