// checkpoint(): parts of a model that keep their inputs alone until the backward pass, which
// computes what lies between once more. It takes a third more time and much less memory.
//
// It is torch.utils.checkpoint.checkpoint with use_reentrant=True
// (https://docs.pytorch.org/docs/stable/checkpoint.html).
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <ddprun/output_tensors.hpp>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun::sdk {

/// The part of checkpoint() that does not depend on types. Programs use that one.
class CheckpointedPart {
 public:
  using Tensors = std::vector<torch::Tensor>;
  using Run = std::function<Tensors(const Tensors&)>;

  /// Calls `first` without recording, and returns its outputs. Their backward pass calls `again`.
  static Tensors apply(const Run& first, const Run& again, const Tensors& inputs);

 private:
  struct Function;
};

/// Returns function(inputs...): a tensor, or a tuple, pair, vector or array of such. In the
/// backward pass it is called once more, with the same inputs, random numbers and Autocast, and
/// then recorded; so gradients are those that it has without checkpoint(), to the bit.
///
///     x = checkpoint([block](const torch::Tensor& x) { return block->forward(x); }, x);
///
/// `function` is copied, and what it captures must still be there in the backward pass. It does the
/// same in both calls: the running statistics of a BatchNorm in it count twice. Random numbers are
/// those of the CPU and of the GPUs that `inputs` are on. Inputs are tensors; other things, and
/// tensors that may be undefined, are captured. The gradients of the parameters in it come like
/// others, also if no input needs one. Without gradients (torch::NoGradGuard) it is a plain call.
///
/// Under DistributedDataParallel each part is used once a step, and find_unused_parameters is not
/// set, which would not find the parameters in it; static_graph lifts both limits.
///
/// Errors: std::invalid_argument for an undefined input; std::logic_error in a backward pass that
/// asks for the gradients of certain tensors, as torch::autograd::grad does; and what `function`
/// throws.
template <typename Function, typename... Inputs>
requires(std::is_same_v<Inputs, torch::Tensor>&&...) auto checkpoint(Function function,
                                                                     const Inputs&... inputs) {
  using Tensors = CheckpointedPart::Tensors;
  using Output = std::remove_cvref_t<decltype(function(inputs...))>;
  if (!torch::GradMode::is_enabled()) return Output{function(inputs...)};
  auto call = [function](const Tensors& all) mutable {
    return [&]<std::size_t... i>(std::index_sequence<i...>) { return Output{function(all[i]...)}; }
    (std::index_sequence_for<Inputs...>{});
  };
  const auto tensors_of = [](Output& output) {
    const TensorRefs found = output_tensors(output);
    return Tensors(found.begin(), found.end());
  };
  std::optional<Output> output;
  const auto first = [&output, call, tensors_of](const Tensors& all) mutable {
    return tensors_of(output.emplace(call(all)));
  };
  const auto again = [call, tensors_of](const Tensors& all) mutable {
    Output result = call(all);
    return tensors_of(result);
  };
  const Tensors outputs = CheckpointedPart::apply(first, again, {inputs...});
  const TensorRefs places = output_tensors(*output);
  for (std::size_t i = 0; i < places.size(); ++i) places[i].get() = outputs[i];
  return *std::move(output);
}

}  // namespace ddprun::sdk
