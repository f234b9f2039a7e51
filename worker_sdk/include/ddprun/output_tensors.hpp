// output_tensors(): the tensors in what a module's forward() returns. DistributedDataParallel needs
// them; programs do not.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <ranges>
#include <tuple>
#include <vector>

namespace ddprun::sdk {

using TensorRefs = std::vector<std::reference_wrapper<torch::Tensor>>;

/// Appends the tensors of `output` to `found`. `output` is a tensor, or a tuple, a pair or a range
/// (vector, array) of such, nested as deep as you like. Anything else does not compile, because a
/// tensor that DDP cannot find would be lost.
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

/// Returns the tensors of `output`, in order.
template <typename Output>
TensorRefs output_tensors(Output& output) {
  TensorRefs found;
  collect_tensors(output, found);
  return found;
}

}  // namespace ddprun::sdk
