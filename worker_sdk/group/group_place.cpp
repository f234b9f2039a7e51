#include "worker_sdk/group/group_place.hpp"

#include <stdexcept>

#include "worker_sdk/contract/visible_devices.hpp"

namespace ddprun::sdk {

namespace {

enum class Wanted { kAny, kNccl, kGloo, kBoth };

Wanted wanted_by(const std::string& backend) {
  if (backend.empty()) return Wanted::kAny;
  if (backend == "nccl") return Wanted::kNccl;
  if (backend == "gloo") return Wanted::kGloo;
  if (backend == "cpu:gloo,cuda:nccl" || backend == "cuda:nccl,cpu:gloo") return Wanted::kBoth;
  if (backend == "mpi")
    throw std::invalid_argument{
        "backend 'mpi': this LibTorch has no ProcessGroupMPI; the PyTorch wheel is built without "
        "MPI (USE_MPI=0). Use gloo or nccl; they also work under mpirun"};
  throw std::invalid_argument{"backend '" + backend +
                              "': expected nccl, gloo, cpu:gloo,cuda:nccl, or nothing"};
}

/// Each worker sees one GPU, and not the same one.
bool one_for_each(const VisibleGpus& gpus) {
  return gpus.count == 1 && gpus.chosen && visible_devices(*gpus.chosen).size() == 1;
}

torch::Device gpu_of(int index, const VisibleGpus& gpus, const std::string& who) {
  if (index >= gpus.count)
    throw std::invalid_argument{"backend nccl needs a GPU for every worker: " + who + " sees " +
                                std::to_string(gpus.count) +
                                "; start fewer workers on this node, or use gloo"};
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

}  // namespace

bool nccl_has(torch::ScalarType dtype) {
  switch (dtype) {
    case torch::kUInt8:
    case torch::kInt8:
    case torch::kInt32:
    case torch::kInt64:
    case torch::kFloat16:
    case torch::kBFloat16:
    case torch::kFloat32:
    case torch::kFloat64:
    case torch::kBool:
      return true;
    default:
      return c10::isFloat8Type(dtype);
  }
}

TensorDevices choose_devices(const std::string& backend, std::optional<torch::Device> device,
                             int local_rank, const VisibleGpus& gpus) {
  const Wanted wanted = wanted_by(backend);
  const bool with_nccl = wanted == Wanted::kNccl || wanted == Wanted::kBoth;
  if (device && device->is_cuda() && wanted == Wanted::kGloo)
    throw std::invalid_argument{"device " + device->str() +
                                " needs the backend nccl: a group with gloo is one of the CPU"};
  if (device && !device->is_cuda()) {
    if (with_nccl || !device->is_cpu())
      throw std::invalid_argument{"device " + device->str() +
                                  ": expected a GPU for nccl, as cuda:0, or the CPU for gloo"};
    return {torch::kCPU};
  }
  if (!device && (wanted == Wanted::kGloo || (wanted == Wanted::kAny && gpus.count == 0)))
    return {torch::kCPU};
  TensorDevices chosen;
  chosen.cpu_too = wanted != Wanted::kNccl;
  if (device && device->has_index())
    chosen.device = gpu_of(device->index(), gpus, "device " + device->str() + ": this process");
  else
    chosen.device = gpu_of(one_for_each(gpus) ? 0 : local_rank, gpus,
                           "local rank " + std::to_string(local_rank));
  return chosen;
}

std::chrono::milliseconds default_timeout(const TensorDevices& devices) {
  return std::chrono::minutes{devices.device.is_cuda() ? 10 : 30};
}

std::string missing_gpu_warning(const std::string& backend, const VisibleGpus& gpus) {
  if (!backend.empty() || gpus.count > 0 || !gpus.has_driver || gpus.chosen) return "";
  return "there is an NVIDIA driver here (/dev/nvidiactl), but LibTorch can use no GPU: the "
         "workers "
         "of this node use gloo and the CPU. nvidia-smi may tell why. Ask for the backend gloo if "
         "that "
         "is what you want";
}

}  // namespace ddprun::sdk
