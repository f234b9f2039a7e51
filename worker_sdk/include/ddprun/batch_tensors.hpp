// The tensors in a batch, whatever its type, and what a loader does with them.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>

namespace ddprun::sdk {

/// Whether for_each_tensor() knows the type: a tensor, a number or a text, a struct with a member
/// for_each_tensor(act), torch::data's Example, or a range, pair or tuple of such.
template <typename Batch>
consteval bool tensors_are_known() {
  if constexpr (std::is_same_v<Batch, torch::Tensor> || std::is_arithmetic_v<Batch> ||
                std::is_same_v<Batch, std::string>) {
    return true;
  } else if constexpr (requires(Batch b) { b.for_each_tensor([](torch::Tensor&) {}); }) {
    return true;
  } else if constexpr (std::ranges::range<Batch>) {
    return tensors_are_known<std::remove_cvref_t<std::ranges::range_reference_t<Batch>>>();
  } else if constexpr (requires(Batch b) { b.data, b.target; }) {
    return tensors_are_known<decltype(Batch::data)>() &&
           tensors_are_known<decltype(Batch::target)>();
  } else if constexpr (requires { std::tuple_size<Batch>::value; }) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (tensors_are_known<std::remove_cv_t<std::tuple_element_t<I, Batch>>>() && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Batch>>{});
  } else {
    return false;
  }
}

/// Calls act(torch::Tensor&) with each tensor of `batch`, which it may replace. A struct of your
/// own has a member that names its tensors, as TokenBatch has.
template <typename Batch, typename Act>
requires(tensors_are_known<std::remove_const_t<Batch>>()) void for_each_tensor(Batch& batch,
                                                                               const Act& act) {
  if constexpr (std::is_same_v<Batch, torch::Tensor>) {
    act(batch);
  } else if constexpr (requires { batch.for_each_tensor(act); }) {
    batch.for_each_tensor(act);
  } else if constexpr (std::is_arithmetic_v<std::remove_const_t<Batch>> ||
                       std::is_same_v<std::remove_const_t<Batch>, std::string>) {
  } else if constexpr (std::ranges::range<Batch>) {
    for (auto&& part : batch) for_each_tensor(part, act);
  } else if constexpr (requires { batch.data, batch.target; }) {
    for_each_tensor(batch.data, act);
    for_each_tensor(batch.target, act);
  } else {
    std::apply([&](auto&... parts) { (for_each_tensor(parts, act), ...); }, batch);
  }
}

/// Returns the GPU that is current on this thread; nullopt where LibTorch can use none.
std::optional<torch::Device> current_gpu();

/// Makes `gpu` current on this thread. Does nothing for nullopt.
void use_gpu(const std::optional<torch::Device>& gpu);

/// Moves a tensor that is on the CPU into page-locked memory, from which a GPU copies while the CPU
/// goes on (https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html). Errors:
/// c10::Error.
void pin(torch::Tensor& tensor);

}  // namespace ddprun::sdk
