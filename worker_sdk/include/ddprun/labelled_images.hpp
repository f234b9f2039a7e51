// LabelledImages: a data set that fits into memory.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::sdk {

struct LabelledImages {
  torch::Tensor images;  // [N, ...] float32, 0 to 1
  torch::Tensor labels;  // [N] int64, 0 to 9

  std::int64_t size() const { return labels.size(0); }
  /// `indices`: [M] int64, each below size().
  LabelledImages select(const torch::Tensor& indices) const {
    return {images.index_select(0, indices), labels.index_select(0, indices)};
  }
};

}  // namespace ddprun::sdk
