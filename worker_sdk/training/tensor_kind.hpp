// Sorts tensors by device and dtype: one kernel takes a list of tensors that have these in common.
#pragma once

#include <torch/torch.h>

#include <map>
#include <tuple>
#include <utility>

namespace ddprun::sdk {

using TensorKind = std::pair<torch::Device, torch::ScalarType>;

struct TensorKindLess {
  bool operator()(const TensorKind& a, const TensorKind& b) const {
    return std::tuple{a.first.type(), a.first.index(), a.second} <
           std::tuple{b.first.type(), b.first.index(), b.second};
  }
};

template <typename Value>
using ByTensorKind = std::map<TensorKind, Value, TensorKindLess>;

inline TensorKind kind_of(const torch::Tensor& tensor) {
  return {tensor.device(), tensor.scalar_type()};
}

}  // namespace ddprun::sdk
