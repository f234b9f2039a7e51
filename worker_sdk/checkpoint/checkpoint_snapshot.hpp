// CheckpointSnapshot: the bytes of a checkpoint's files, in memory.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <string>
#include <vector>

#include "ddprun/safetensors.hpp"
#include "worker_sdk/checkpoint/staging_buffer.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_publisher.hpp"

namespace ddprun::sdk {

class CheckpointSnapshot {
 public:
  /// A safetensors file. The tensors are not copied: they must not change before copy_to() has
  /// returned, or the files are written. Errors: std::invalid_argument for a dtype that the format
  /// lacks.
  void add(const std::string& name, const SafeTensors& contents);

  /// Of all tensors, headers not counted.
  std::size_t bytes() const { return bytes_; }

  /// Copies all tensors into `buffer`; from then on they may change.
  void copy_to(StagingBuffer& buffer);

  /// What to write; valid for as long as this is. Copies what lies on a GPU, or not in one piece.
  std::vector<FileToWrite> files();

 private:
  struct File {
    std::string name;
    std::string header;
    std::vector<torch::Tensor> tensors;              // until they are copied,
    std::vector<std::span<const std::byte>> copies;  // and then these
  };

  std::vector<File> files_;
  std::size_t bytes_ = 0;
};

}  // namespace ddprun::sdk
