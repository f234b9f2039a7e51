// CheckpointSnapshot: the bytes of a checkpoint's files, while they are in memory.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <string>
#include <vector>

#include "ddprun/safetensors.hpp"
#include "worker_sdk/checkpoint/staging_buffer.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

namespace ddprun::sdk {

/// Collects files, and then either copies their tensors or refers to them.
class CheckpointSnapshot {
 public:
  /// Adds a safetensors file. The tensors are not copied, and must not change until copy_to() has
  /// returned or, without it, the files are written. Errors: std::invalid_argument for a dtype that
  /// the format lacks.
  void add(const std::string& name, const SafeTensors& contents);

  /// The size of all tensors; headers do not count.
  std::size_t bytes() const { return bytes_; }

  /// Copies all tensors into `buffer`, which must outlive this. From then on the tensors may
  /// change.
  void copy_to(StagingBuffer& buffer);

  /// Returns what to write; it is valid while this lives. Tensors that are still on a GPU, or not
  /// contiguous, are copied first.
  std::vector<FileToWrite> files();

 private:
  struct File {
    std::string name;
    std::string header;
    std::vector<torch::Tensor> tensors;              // empty after copy_to()
    std::vector<std::span<const std::byte>> copies;  // empty before copy_to()
  };

  std::vector<File> files_;
  std::size_t bytes_ = 0;
};

}  // namespace ddprun::sdk
