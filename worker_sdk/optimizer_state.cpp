#include "worker_sdk/optimizer_state.hpp"

#include <memory>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

using State = std::map<std::string, torch::Tensor>;
using torch::optim::AdamParamState;
using torch::optim::AdamWParamState;
using torch::optim::OptimizerParamState;
using torch::optim::SGDParamState;

std::vector<torch::Tensor> parameters(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> all;
  for (const auto& group : optimizer.param_groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

/// Visits the fields of a parameter's state as (name, tensor&); Adam's step count as a tensor.
template <typename Visit>
void visit_fields(SGDParamState& state, Visit visit) {
  torch::Tensor momentum = state.momentum_buffer();
  visit("momentum_buffer", momentum);
  state.momentum_buffer(momentum);
}

template <typename AnyAdamState, typename Visit>
void visit_fields(AnyAdamState& state, Visit visit) {
  torch::Tensor step = torch::tensor(state.step(), torch::kInt64);
  torch::Tensor mean = state.exp_avg();
  torch::Tensor square = state.exp_avg_sq();
  torch::Tensor max_square = state.max_exp_avg_sq();
  visit("step", step);
  visit("exp_avg", mean);
  visit("exp_avg_sq", square);
  visit("max_exp_avg_sq", max_square);
  state.step(step.item<std::int64_t>());
  state.exp_avg(mean);
  state.exp_avg_sq(square);
  state.max_exp_avg_sq(max_square);
}

/// An empty state of the kind that the optimizer keeps for each parameter.
std::unique_ptr<OptimizerParamState> empty_state(const torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return std::make_unique<SGDParamState>();
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer))
    return std::make_unique<AdamParamState>();
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer))
    return std::make_unique<AdamWParamState>();
  throw std::invalid_argument{"checkpoints hold the state of SGD, Adam and AdamW only"};
}

template <typename Visit>
void visit_any(OptimizerParamState& state, Visit visit) {
  if (auto* sgd = dynamic_cast<SGDParamState*>(&state)) return visit_fields(*sgd, visit);
  if (auto* adam = dynamic_cast<AdamParamState*>(&state)) return visit_fields(*adam, visit);
  if (auto* adamw = dynamic_cast<AdamWParamState*>(&state)) return visit_fields(*adamw, visit);
}

[[noreturn]] void refuse(const std::string& what) {
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

void restore_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) {
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
        refuse("'" + found->first + "' of another shape");
      tensor = is_step ? found->second
                       : found->second.to(all[i].device(), /*non_blocking=*/false,
                                          /*copy=*/true);
      ++used;
    });
    if (used > used_before) restored[i] = std::move(fields);
  }
  if (used != state.size()) refuse("a field that this one lacks");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (restored[i]) optimizer.state()[all[i].unsafeGetTensorImpl()] = std::move(restored[i]);
}

std::size_t expected_state_bytes(const torch::optim::Optimizer& optimizer) {
  std::size_t bytes = 0;
  for (const auto& group : optimizer.param_groups()) {
    const auto* sgd = dynamic_cast<const torch::optim::SGDOptions*>(&group.options());
    const auto* adam = dynamic_cast<const torch::optim::AdamOptions*>(&group.options());
    const auto* adamw = dynamic_cast<const torch::optim::AdamWOptions*>(&group.options());
    const bool max_too = (adam != nullptr && adam->amsgrad()) || (adamw && adamw->amsgrad());
    const std::size_t copies = sgd ? (sgd->momentum() != 0 ? 1 : 0) : (max_too ? 3 : 2);
    for (const torch::Tensor& parameter : group.params()) bytes += copies * parameter.nbytes();
  }
  return bytes;
}

}  // namespace ddprun::sdk
