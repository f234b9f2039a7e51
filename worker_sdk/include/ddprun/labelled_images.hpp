// LabelledImages: a data set that fits into memory.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace ddprun::sdk {

/// Images and the classes that they show: row i of one belongs to row i of the other.
struct LabelledImages {
  torch::Tensor images;  // [N, ...] float32, 0 to 1
  torch::Tensor labels;  // [N] int64, 0 to 9

  template <typename Act>
  void for_each_tensor(const Act& act) {
    act(images);
    act(labels);
  }

  /// N, the number of images.
  std::int64_t size() const { return labels.size(0); }

  /// Returns copies of the rows `indices`, [M] int64 from 0 to size() - 1, in that order. Errors:
  /// c10::Error for an index outside.
  LabelledImages select(const torch::Tensor& indices) const {
    return {images.index_select(0, indices), labels.index_select(0, indices)};
  }
};

}  // namespace ddprun::sdk
