#include "ddprun/activation_checkpoint.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/engine.h>

#include <array>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

namespace ddprun::sdk {

namespace {

using torch::Tensor;
using Tensors = CheckpointedPart::Tensors;

/// Default generators of random numbers and their states.
class RandomStates {
 public:
  /// Takes those of the CPU, and of the GPUs that `tensors` are on.
  explicit RandomStates(const Tensors& tensors) {
    std::set<torch::DeviceIndex> gpus;
    for (const Tensor& tensor : tensors)
      if (tensor.is_cuda()) gpus.insert(tensor.device().index());
    generators_.push_back(at::detail::getDefaultCPUGenerator());
    for (const auto gpu : gpus)
      generators_.push_back(at::globalContext().defaultGenerator({torch::kCUDA, gpu}));
    store();
  }

  /// The present states of the same generators.
  RandomStates now() const {
    RandomStates copy = *this;
    copy.store();
    return copy;
  }

  void restore() const {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      at::Generator generator = generators_[i];
      const std::lock_guard lock{generator.mutex()};
      generator.set_state(states_[i]);
    }
  }

 private:
  void store() {
    states_.clear();
    for (at::Generator& generator : generators_) {
      const std::lock_guard lock{generator.mutex()};
      states_.push_back(generator.get_state());
    }
  }

  std::vector<at::Generator> generators_;
  Tensors states_;
};

/// Which operators run in half precision on this thread.
class AutocastState {
 public:
  AutocastState() {
    for (std::size_t i = 0; i < kDevices.size(); ++i)
      modes_[i] = {at::autocast::is_autocast_enabled(kDevices[i]),
                   at::autocast::get_autocast_dtype(kDevices[i])};
  }

  void restore() const {
    for (std::size_t i = 0; i < kDevices.size(); ++i) {
      at::autocast::set_autocast_enabled(kDevices[i], modes_[i].enabled);
      at::autocast::set_autocast_dtype(kDevices[i], modes_[i].dtype);
    }
    at::autocast::set_autocast_cache_enabled(caches_);
    // What another graph has converted does not belong into this one's.
    at::autocast::clear_cache();
  }

 private:
  static constexpr std::array kDevices{torch::kCPU, torch::kCUDA};
  struct Mode {
    bool enabled;
    torch::ScalarType dtype;
  };
  std::array<Mode, kDevices.size()> modes_;
  bool caches_ = at::autocast::is_autocast_cache_enabled();
};

/// While it lives, random numbers and Autocast are as they were in the forward pass.
class AsInForward {
 public:
  AsInForward(const RandomStates& random, const AutocastState& autocast)
      : random_before_{random.now()} {
    random.restore();
    autocast.restore();
    at::autocast::increment_nesting();
  }
  ~AsInForward() {
    at::autocast::decrement_nesting();
    autocast_before_.restore();
    random_before_.restore();
  }
  AsInForward(const AsInForward&) = delete;
  AsInForward& operator=(const AsInForward&) = delete;

 private:
  RandomStates random_before_;
  AutocastState autocast_before_;
};

/// What the backward pass needs besides the inputs.
struct Part : torch::CustomClassHolder {
  Part(const CheckpointedPart::Run& function, const Tensors& inputs)
      : run{function}, random{inputs} {}
  CheckpointedPart::Run run;
  RandomStates random;
  AutocastState autocast;
};

/// The same values as leaves of a graph of their own.
Tensors detached(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors) {
    result.push_back(tensor.detach());
    result.back().set_requires_grad(tensor.requires_grad());
  }
  return result;
}

void back_propagate(const Tensors& outputs, const Tensors& gradients) {
  Tensors roots, of_roots;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad() || !gradients[i].defined()) continue;
    roots.push_back(outputs[i]);
    of_roots.push_back(gradients[i]);
  }
  if (!roots.empty()) torch::autograd::backward(roots, of_roots);
}

}  // namespace

struct CheckpointedPart::Function : torch::autograd::Function<Function> {
  /// `anchor` needs a gradient, so that there is a backward pass also if no input does.
  static Tensors forward(torch::autograd::AutogradContext* context,
                         const c10::intrusive_ptr<Part>& part, const Run& first, const Tensor&,
                         at::TensorList inputs) {
    context->save_for_backward(inputs.vec());
    context->set_materialize_grads(false);  // an output that the loss does not use gets no gradient
    context->saved_data["part"] = torch::IValue::make_capsule(part);
    return first(inputs.vec());
  }

  static Tensors backward(torch::autograd::AutogradContext* context, Tensors gradients) {
    if (!torch::autograd::Engine::get_default_engine().is_checkpoint_valid())
      throw std::logic_error{
          "checkpoint: call backward() without a list of inputs, and not torch::autograd::grad(): "
          "they would find no gradients inside of what is checkpointed"};
    const auto holder = context->saved_data["part"].toCapsule();
    const auto& part = static_cast<const Part&>(*holder);
    const Tensors inputs = detached(context->get_saved_variables());
    Tensors outputs;
    {
      const AsInForward surroundings{part.random, part.autocast};
      const at::AutoGradMode recorded{true};
      outputs = part.run(inputs);
    }
    back_propagate(outputs, gradients);
    Tensors result(3);  // for `part`, `first` and `anchor`
    for (const Tensor& input : inputs) result.push_back(input.grad());
    return result;
  }
};

Tensors CheckpointedPart::apply(const Run& first, const Run& again, const Tensors& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      throw std::invalid_argument{"checkpoint: input " + std::to_string(i) +
                                  " is undefined: capture it in the function"};
  const Tensor anchor = torch::empty({0}, torch::requires_grad());
  return Function::apply(c10::make_intrusive<Part>(again, inputs), first, anchor,
                         at::TensorList{inputs});
}

}  // namespace ddprun::sdk
