#include "ddprun/optimizer_state.hpp"

#include <memory>
#include <stdexcept>

#include "ddprun/fused_step.hpp"

namespace ddprun::sdk {

namespace {

using State = std::map<std::string, torch::Tensor>;
using torch::optim::AdagradParamState;
using torch::optim::AdamParamState;
using torch::optim::AdamWParamState;
using torch::optim::OptimizerParamState;
using torch::optim::RMSpropParamState;
using torch::optim::SGDParamState;

std::vector<torch::Tensor> parameters(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> all;
  for (const auto& group : optimizer.param_groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

/// Lets `visit` see the step count as a tensor, which it may replace.
template <typename ParamState, typename Visit>
void visit_step(ParamState& state, Visit visit) {
  if (auto* fused = dynamic_cast<StepTensor*>(&state)) return visit("step", fused->steps);
  torch::Tensor step = torch::tensor(state.step(), torch::kInt64);
  visit("step", step);
  state.step(step.item<std::int64_t>());
}

/// Lets `visit(name, tensor&)` see, and replace, each field of a parameter's state, under its name
/// in Python.
template <typename Visit>
void visit_fields(SGDParamState& state, Visit visit) {
  torch::Tensor momentum = state.momentum_buffer();
  visit("momentum_buffer", momentum);
  state.momentum_buffer(momentum);
}

template <typename Visit>
void visit_fields(RMSpropParamState& state, Visit visit) {
  torch::Tensor square = state.square_avg();
  torch::Tensor momentum = state.momentum_buffer();
  torch::Tensor mean = state.grad_avg();
  visit_step(state, visit);
  visit("square_avg", square);
  visit("momentum_buffer", momentum);
  visit("grad_avg", mean);
  state.square_avg(square);
  state.momentum_buffer(momentum);
  state.grad_avg(mean);
}

template <typename Visit>
void visit_fields(AdagradParamState& state, Visit visit) {
  torch::Tensor sum = state.sum();
  visit_step(state, visit);
  visit("sum", sum);
  state.sum(sum);
}

template <typename AnyAdamState, typename Visit>
void visit_fields(AnyAdamState& state, Visit visit) {
  torch::Tensor mean = state.exp_avg();
  torch::Tensor square = state.exp_avg_sq();
  torch::Tensor max_square = state.max_exp_avg_sq();
  visit_step(state, visit);
  visit("exp_avg", mean);
  visit("exp_avg_sq", square);
  visit("max_exp_avg_sq", max_square);
  state.exp_avg(mean);
  state.exp_avg_sq(square);
  state.max_exp_avg_sq(max_square);
}

/// Returns an empty state of the kind that the optimizer keeps for each parameter. Errors:
/// std::invalid_argument for an optimizer that we do not know.
std::unique_ptr<OptimizerParamState> empty_state(const torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return std::make_unique<SGDParamState>();
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer))
    return std::make_unique<AdamParamState>();
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer))
    return std::make_unique<AdamWParamState>();
  if (dynamic_cast<const torch::optim::RMSprop*>(&optimizer))
    return std::make_unique<RMSpropParamState>();
  if (dynamic_cast<const torch::optim::Adagrad*>(&optimizer))
    return std::make_unique<AdagradParamState>();
  throw std::invalid_argument{
      "checkpoints hold the state of SGD, Adam, AdamW, RMSprop and Adagrad only"};
}

template <typename Visit>
void visit_any(OptimizerParamState& state, Visit visit) {
  if (auto* sgd = dynamic_cast<SGDParamState*>(&state)) return visit_fields(*sgd, visit);
  if (auto* adam = dynamic_cast<AdamParamState*>(&state)) return visit_fields(*adam, visit);
  if (auto* adamw = dynamic_cast<AdamWParamState*>(&state)) return visit_fields(*adamw, visit);
  if (auto* rms = dynamic_cast<RMSpropParamState*>(&state)) return visit_fields(*rms, visit);
  if (auto* ada = dynamic_cast<AdagradParamState*>(&state)) return visit_fields(*ada, visit);
}

/// Returns how many numbers the optimizer keeps for each number of a parameter.
std::size_t copies_kept(const torch::optim::OptimizerOptions& options) {
  using namespace torch::optim;
  if (const auto* sgd = dynamic_cast<const SGDOptions*>(&options))
    return sgd->momentum() != 0 ? 1 : 0;
  if (const auto* adam = dynamic_cast<const AdamOptions*>(&options)) return adam->amsgrad() ? 3 : 2;
  if (const auto* adamw = dynamic_cast<const AdamWOptions*>(&options))
    return adamw->amsgrad() ? 3 : 2;
  if (const auto* rms = dynamic_cast<const RMSpropOptions*>(&options))
    return 1 + (rms->momentum() != 0 ? 1 : 0) + (rms->centered() ? 1 : 0);
  return 1;  // Adagrad
}

/// Returns a copy of `values` on the device, with the strides of the parameter: fused kernels take
/// the numbers of parameter and state in the order in which they lie in memory.
torch::Tensor laid_out_as(const torch::Tensor& parameter, const torch::Tensor& values,
                          torch::Device device) {
  const torch::NoGradGuard no_grad;
  return torch::empty_like(parameter, torch::dtype(values.scalar_type()).device(device))
      .copy_(values);
}

[[noreturn]] void refuse_state(const std::string& what) {
  throw std::invalid_argument{
      "the saved optimizer state is of another optimizer, or of other parameters: it has " + what};
}

}  // namespace

State optimizer_state(const torch::optim::Optimizer& optimizer) {
  empty_state(optimizer);  // refuses what it does not know, also before the first step
  State saved;
  const auto all = parameters(optimizer);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = optimizer.state().find(all[i].unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    visit_any(*found->second, [&](const char* field, torch::Tensor& tensor) {
      if (tensor.defined()) saved[std::to_string(i) + "/" + field] = tensor;
    });
  }
  return saved;
}

void restore_optimizer_state(torch::optim::Optimizer& optimizer, const State& state,
                             std::optional<torch::Device> device) {
  const auto all = parameters(optimizer);
  std::vector<std::unique_ptr<OptimizerParamState>> restored(all.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto fields = empty_state(optimizer);
    const std::size_t used_before = used;
    visit_any(*fields, [&](const char* field, torch::Tensor& tensor) {
      const auto found = state.find(std::to_string(i) + "/" + field);
      if (found == state.end()) return;
      const bool is_step = field == std::string{"step"};
      if (!is_step && found->second.sizes() != all[i].sizes())
        refuse_state("'" + found->first + "' of another shape");
      tensor = is_step ? found->second.clone()  // which may lie in a mapped file
                       : laid_out_as(all[i], found->second, device.value_or(all[i].device()));
      ++used;
    });
    if (used > used_before) restored[i] = std::move(fields);
  }
  if (used != state.size()) refuse_state("a field that this one lacks");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (restored[i]) optimizer.state()[all[i].unsafeGetTensorImpl()] = std::move(restored[i]);
}

std::size_t expected_state_bytes(const torch::optim::Optimizer& optimizer) {
  std::size_t bytes = 0;
  for (const auto& group : optimizer.param_groups()) {
    const std::size_t copies = copies_kept(group.options());
    for (const torch::Tensor& parameter : group.params()) bytes += copies * parameter.nbytes();
  }
  return bytes;
}

}  // namespace ddprun::sdk
