// The tensors in what a module's forward() returns.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <ranges>
#include <tuple>
#include <vector>

namespace ddprun::sdk {

using TensorRefs = std::vector<std::reference_wrapper<torch::Tensor>>;

/// A tensor; a tuple or pair, or a range (vector, array), of such, nested as deep as you like.
/// Anything else has no tensors, and does not compile: a tensor that DDP cannot find would be lost.
template <typename Output>
void collect_tensors(Output& output, TensorRefs& found) {
  if constexpr (std::is_same_v<Output, torch::Tensor>) {
    found.push_back(output);
  } else if constexpr (std::ranges::range<Output>) {
    for (auto& part : output) collect_tensors(part, found);
  } else {
    std::apply([&](auto&... parts) { (collect_tensors(parts, found), ...); }, output);
  }
}

template <typename Output>
TensorRefs output_tensors(Output& output) {
  TensorRefs found;
  collect_tensors(output, found);
  return found;
}

}  // namespace ddprun::sdk
