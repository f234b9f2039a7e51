#include "ddprun/fused_optimizers.hpp"

#include <stdexcept>
#include <tuple>
#include <vector>

#include "worker_sdk/training/tensor_kind.hpp"

namespace ddprun::sdk {

namespace {

using torch::Tensor;
using torch::optim::OptimizerParamGroup;
using torch::optim::OptimizerParamState;
using Groups = std::vector<OptimizerParamGroup>;
using States = ska::flat_hash_map<void*, std::unique_ptr<OptimizerParamState>>;
using Tensors = std::vector<Tensor>;

/// What GradScaler has for a step; both undefined when there is no scaler.
struct Scaling {
  Tensor grad_scale, found_inf;

  /// The tensor on that device, or nothing.
  static std::optional<Tensor> on(const Tensor& tensor, torch::Device device) {
    if (!tensor.defined()) return std::nullopt;
    return tensor.to(device, /*non_blocking=*/true).reshape({});
  }
};

/// The loss of `closure`, which computes gradients.
Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (!closure) return {};
  torch::AutoGradMode enable{true};
  return closure();
}

/// The parameters with gradients, by what one kernel takes.
ByTensorKind<Tensors> with_gradients(const OptimizerParamGroup& group) {
  ByTensorKind<Tensors> batches;
  for (const Tensor& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    if (parameter.grad().is_sparse() || !parameter.is_floating_point())
      throw std::invalid_argument{
          "a fused optimizer takes parameters of a floating dtype with dense gradients"};
    batches[kind_of(parameter)].push_back(parameter);
  }
  return batches;
}

Tensors gradients_of(const Tensors& parameters) {
  Tensors gradients;
  for (const Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

Tensor step_scalar(std::int64_t steps, torch::Device device) {
  return torch::full({}, static_cast<double>(steps), torch::dtype(torch::kFloat32).device(device));
}

/// Returns the state of a parameter for fused kernels. One that came from a checkpoint, from
/// load() or from nowhere becomes such a state.
template <typename ParamState>
FusedParamState<ParamState>& adam_state(States& states, const Tensor& parameter, bool amsgrad) {
  using Fused = FusedParamState<ParamState>;
  std::unique_ptr<OptimizerParamState>& found = states[parameter.unsafeGetTensorImpl()];
  if (auto* fused = dynamic_cast<Fused*>(found.get())) return *fused;
  auto made = std::make_unique<Fused>();
  if (const auto* plain = dynamic_cast<const ParamState*>(found.get()))
    static_cast<ParamState&>(*made) = *plain;
  made->steps = step_scalar(made->step(), parameter.device());
  if (!made->exp_avg().defined()) made->exp_avg(torch::zeros_like(parameter));
  if (!made->exp_avg_sq().defined()) made->exp_avg_sq(torch::zeros_like(parameter));
  if (amsgrad && !made->max_exp_avg_sq().defined())
    made->max_exp_avg_sq(torch::zeros_like(parameter));
  Fused& state = *made;
  found = std::move(made);
  return state;
}

struct AdamLists {
  Tensors exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps;
};

template <typename ParamState>
AdamLists adam_lists(States& states, const Tensors& parameters, bool amsgrad) {
  AdamLists lists;
  for (const Tensor& parameter : parameters) {
    auto& state = adam_state<ParamState>(states, parameter, amsgrad);
    lists.exp_avgs.push_back(state.exp_avg());
    lists.exp_avg_sqs.push_back(state.exp_avg_sq());
    if (amsgrad) lists.max_exp_avg_sqs.push_back(state.max_exp_avg_sq());
    lists.steps.push_back(state.steps);
  }
  return lists;
}

/// One step of Adam or AdamW; `kernel` is at::_fused_adam_ or at::_fused_adamw_.
template <typename Options, typename ParamState, typename Kernel>
void adam_step(Groups& groups, States& states, const Scaling& scaling, Kernel kernel) {
  for (OptimizerParamGroup& group : groups) {
    const auto& options = static_cast<const Options&>(group.options());
    for (const auto& [kind, parameters] : with_gradients(group)) {
      AdamLists lists = adam_lists<ParamState>(states, parameters, options.amsgrad());
      const auto found_inf = Scaling::on(scaling.found_inf, kind.first);
      at::_foreach_add_(lists.steps, 1);
      kernel(parameters, gradients_of(parameters), lists.exp_avgs, lists.exp_avg_sqs,
             lists.max_exp_avg_sqs, lists.steps, options.lr(), std::get<0>(options.betas()),
             std::get<1>(options.betas()), options.weight_decay(), options.eps(), options.amsgrad(),
             /*maximize=*/false, Scaling::on(scaling.grad_scale, kind.first), found_inf);
      if (found_inf) at::_foreach_sub_(lists.steps, Tensors(lists.steps.size(), *found_inf));
    }
  }
}

void step_of(FusedAdam& adam, const Scaling& scaling) {
  const auto kernel = [](auto&&... arguments) { at::_fused_adam_(arguments...); };
  adam_step<torch::optim::AdamOptions, torch::optim::AdamParamState>(adam.param_groups(),
                                                                     adam.state(), scaling, kernel);
}

void step_of(FusedAdamW& adamw, const Scaling& scaling) {
  const auto kernel = [](auto&&... arguments) { at::_fused_adamw_(arguments...); };
  adam_step<torch::optim::AdamWOptions, torch::optim::AdamWParamState>(
      adamw.param_groups(), adamw.state(), scaling, kernel);
}

/// Writes the number of steps where LibTorch's save() looks for it.
template <typename ParamState>
void write_steps(const States& states) {
  for (const auto& [parameter, state] : states)
    if (auto* fused = dynamic_cast<FusedParamState<ParamState>*>(state.get()))
      fused->step(fused->steps.template item<std::int64_t>());
}

using torch::optim::SGDOptions;
using torch::optim::SGDParamState;

Tensor momentum_of(const States& states, const Tensor& parameter) {
  const auto found = states.find(parameter.unsafeGetTensorImpl());
  if (found == states.end()) return {};
  return static_cast<const SGDParamState&>(*found->second).momentum_buffer();
}

void sgd_kernel(const SGDOptions& options, const Tensors& parameters, const Tensors& momenta,
                bool first, const Scaling& scaling) {
  if (parameters.empty()) return;
  const torch::Device device = parameters.front().device();
  at::_fused_sgd_(parameters, gradients_of(parameters), momenta, options.weight_decay(),
                  options.momentum(), options.lr(), options.dampening(), options.nesterov(),
                  /*maximize=*/false, first, Scaling::on(scaling.grad_scale, device),
                  Scaling::on(scaling.found_inf, device));
}

/// The first step of these parameters fills their momenta.
void first_sgd_step(States& states, const SGDOptions& options, const Tensors& parameters,
                    const Scaling& scaling) {
  // A step that is left out would leave the momenta as they are, and be no first step: so this
  // one time the host looks.
  if (parameters.empty() || (scaling.found_inf.defined() && scaling.found_inf.item<float>() != 0))
    return;
  Tensors momenta;
  for (const Tensor& parameter : parameters) {
    momenta.push_back(torch::empty_like(parameter));
    auto state = std::make_unique<SGDParamState>();
    state->momentum_buffer(momenta.back());
    states[parameter.unsafeGetTensorImpl()] = std::move(state);
  }
  sgd_kernel(options, parameters, momenta, true, scaling);
}

void step_of(FusedSGD& sgd, const Scaling& scaling) {
  for (OptimizerParamGroup& group : sgd.param_groups()) {
    const auto& options = static_cast<const SGDOptions&>(group.options());
    for (const auto& [kind, parameters] : with_gradients(group)) {
      if (options.momentum() == 0) {
        sgd_kernel(options, parameters, {}, false, scaling);
        continue;
      }
      Tensors fresh, known, momenta;
      for (const Tensor& parameter : parameters) {
        const Tensor momentum = momentum_of(sgd.state(), parameter);
        (momentum.defined() ? known : fresh).push_back(parameter);
        if (momentum.defined()) momenta.push_back(momentum);
      }
      sgd_kernel(options, known, momenta, false, scaling);
      first_sgd_step(sgd.state(), options, fresh, scaling);
    }
  }
}

template <typename Optimizer>
Tensor unscaled_step(Optimizer& optimizer, const torch::optim::Optimizer::LossClosure& closure) {
  torch::NoGradGuard no_grad;
  const Tensor loss = loss_of(closure);
  step_of(optimizer, {});
  return loss;
}

template <typename Optimizer>
void scaled_step(Optimizer& optimizer, const Tensor& grad_scale, const Tensor& found_inf) {
  torch::NoGradGuard no_grad;
  step_of(optimizer, {grad_scale, found_inf});
}

}  // namespace

Tensor FusedSGD::step(LossClosure closure) { return unscaled_step(*this, closure); }
Tensor FusedAdam::step(LossClosure closure) { return unscaled_step(*this, closure); }
Tensor FusedAdamW::step(LossClosure closure) { return unscaled_step(*this, closure); }

void FusedSGD::step_scaled(const Tensor& grad_scale, const Tensor& found_inf) {
  scaled_step(*this, grad_scale, found_inf);
}
void FusedAdam::step_scaled(const Tensor& grad_scale, const Tensor& found_inf) {
  scaled_step(*this, grad_scale, found_inf);
}
void FusedAdamW::step_scaled(const Tensor& grad_scale, const Tensor& found_inf) {
  scaled_step(*this, grad_scale, found_inf);
}

void FusedAdam::save(torch::serialize::OutputArchive& archive) const {
  write_steps<torch::optim::AdamParamState>(state());
  Adam::save(archive);
}

void FusedAdamW::save(torch::serialize::OutputArchive& archive) const {
  write_steps<torch::optim::AdamWParamState>(state());
  AdamW::save(archive);
}

}  // namespace ddprun::sdk
