#include "worker_sdk/checkpoint/checkpoint_snapshot.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <set>
#include <span>

namespace ddprun::sdk {

namespace {

std::span<const std::byte> bytes_of(const torch::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

/// Copies the tensor's bytes to `to`. It does not wait for a GPU to have done so.
void copy_bytes(std::byte* to, const torch::Tensor& tensor) {
  if (tensor.nbytes() == 0) return;
  const torch::Tensor plain = tensor.contiguous();
  if (plain.is_cpu()) {
    std::memcpy(to, plain.const_data_ptr(), plain.nbytes());
    return;
  }
  torch::from_blob(to, {static_cast<std::int64_t>(plain.nbytes())}, torch::dtype(torch::kUInt8))
      .copy_(plain.reshape({-1}).view(torch::kUInt8), /*non_blocking=*/true);
}

}  // namespace

void CheckpointSnapshot::add(const std::string& name, const SafeTensors& contents) {
  File file{name, safetensors_header(contents), {}, {}};
  for (const auto& [tensor_name, tensor] : contents.tensors) {
    file.tensors.push_back(tensor.detach());
    bytes_ += tensor.nbytes();
  }
  files_.push_back(std::move(file));
}

void CheckpointSnapshot::copy_to(StagingBuffer& buffer) {
  std::set<torch::DeviceIndex> gpus;
  for (const File& file : files_)
    for (const torch::Tensor& tensor : file.tensors)
      if (tensor.is_cuda()) gpus.insert(tensor.device().index());
  std::byte* next = buffer.reserve(bytes_, !gpus.empty());
  for (File& file : files_) {
    for (const torch::Tensor& tensor : file.tensors) {
      copy_bytes(next, tensor);
      file.copies.emplace_back(next, tensor.nbytes());
      next += tensor.nbytes();
    }
  }
  // Each copy runs on its tensor's device, on the training's stream there: a worker may have its
  // layers on several.
  for (const torch::DeviceIndex gpu : gpus) {
    const c10::impl::VirtualGuardImpl cuda{torch::kCUDA};
    cuda.synchronizeStream(cuda.getStream({torch::kCUDA, gpu}));
  }
  for (File& file : files_) file.tensors.clear();
}

std::vector<FileToWrite> CheckpointSnapshot::files() {
  std::vector<FileToWrite> out;
  for (File& file : files_) {
    FileToWrite to_write{file.name, {std::as_bytes(std::span{file.header})}};
    for (torch::Tensor& tensor : file.tensors) {
      tensor = tensor.to(torch::kCPU).contiguous();
      to_write.pieces.push_back(bytes_of(tensor));
    }
    to_write.pieces.insert(to_write.pieces.end(), file.copies.begin(), file.copies.end());
    out.push_back(std::move(to_write));
  }
  return out;
}

}  // namespace ddprun::sdk
