#include "ddprun/mixed_precision.hpp"

#include <ATen/autocast_mode.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "worker_sdk/training/tensor_kind.hpp"

namespace ddprun::sdk {

namespace {

void require(bool holds, const std::string& option, double value, const std::string& expected) {
  if (!holds)
    throw std::invalid_argument{"GradScaler: " + option + " is " + std::to_string(value) +
                                ", expected " + expected};
}

using GradientsByKind = ByTensorKind<std::vector<torch::Tensor>>;

GradientsByKind gradients_by_kind(const std::vector<torch::optim::OptimizerParamGroup>& groups) {
  GradientsByKind result;
  for (const auto& group : groups) {
    for (const torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      if (parameter.grad().scalar_type() == torch::kFloat16)
        throw std::invalid_argument{
            "GradScaler: a gradient is float16, which cannot be unscaled; keep the parameters "
            "float32 and use Autocast"};
      const torch::Tensor dense =
          parameter.grad().is_sparse() ? parameter.grad()._values() : parameter.grad();
      result[kind_of(dense)].push_back(dense);
    }
  }
  return result;
}

}  // namespace

Autocast::Autocast(torch::DeviceType device, std::optional<torch::ScalarType> chosen, bool enabled)
    : device_{device},
      enabled_before_{at::autocast::is_autocast_enabled(device)},
      dtype_before_{at::autocast::get_autocast_dtype(device)} {
  const torch::ScalarType dtype = chosen.value_or(dtype_before_);
  if (dtype != torch::kFloat16 && dtype != torch::kBFloat16)
    throw std::invalid_argument{std::string{"Autocast: dtype "} + c10::toString(dtype) +
                                ", expected Half or BFloat16"};
  // The cache of converted weights does not tell dtypes apart: copies that another dtype's scope
  // has made would be taken for ours.
  if (dtype != dtype_before_) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device, enabled);
  at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  const bool other_dtype = at::autocast::get_autocast_dtype(device_) != dtype_before_;
  // The weights will change, so the cached copies serve this forward pass only.
  if (at::autocast::decrement_nesting() == 0 || other_dtype) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
}

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_{options}, scale_{options.init_scale} {
  require(options.init_scale > 0, "init_scale", options.init_scale, "more than 0");
  require(options.growth_factor > 1, "growth_factor", options.growth_factor, "more than 1");
  require(options.backoff_factor > 0 && options.backoff_factor < 1, "backoff_factor",
          options.backoff_factor, "more than 0 and less than 1");
  require(options.growth_interval > 0, "growth_interval",
          static_cast<double>(options.growth_interval), "1 or more");
}

torch::Tensor GradScaler::scale(const torch::Tensor& loss) {
  if (!options_.enabled) return loss;
  return loss * torch::full({}, scale_, torch::dtype(torch::kFloat32).device(loss.device()));
}

torch::Tensor GradScaler::multiply(const Groups& groups, double factor) const {
  torch::NoGradGuard no_grad;
  torch::Tensor found;
  for (const auto& [kind, tensors] : gradients_by_kind(groups)) {
    const auto options = torch::dtype(torch::kFloat32).device(kind.first);
    torch::Tensor here = torch::zeros({1}, options);
    at::_amp_foreach_non_finite_check_and_unscale_(tensors, here,
                                                   torch::full({1}, factor, options));
    // A copy from the CPU would wait for the backward pass.
    found = found.defined() ? torch::maximum(found.to(here.device()), here) : here;
  }
  if (!found.defined()) found = torch::zeros({1}, torch::kFloat32);
  if (!options_.shards) return found;
  found = found.to(options_.shards->device());
  options_.shards->all_reduce(found, c10d::ReduceOp{c10d::ReduceOp::MAX});
  return found;
}

GradScaler::Unscaled& GradScaler::unscale_gradients(const void* optimizer, const Groups& groups) {
  if (unscaled_.contains(optimizer))
    throw std::logic_error{
        "GradScaler: unscale() twice for one optimizer, without update() in between"};
  // 1 / scale is computed in double and rounded to float32 once, as Python's does it.
  const bool found_inf = options_.enabled && multiply(groups, 1 / scale_).item<float>() != 0;
  return unscaled_[optimizer] = {found_inf};
}

bool GradScaler::may_step(const void* optimizer, const Groups& groups) {
  const auto before = unscaled_.find(optimizer);
  Unscaled& unscaled =
      before == unscaled_.end() ? unscale_gradients(optimizer, groups) : before->second;
  if (std::exchange(unscaled.stepped, true))
    throw std::logic_error{
        "GradScaler: step() twice for one optimizer, without update() in between"};
  return !unscaled.found_inf;
}

bool GradScaler::step_fused(FusedStep& optimizer, const void* address, const Groups& groups) {
  const torch::Tensor found_inf = multiply(groups, 1);
  optimizer.step_scaled(
      torch::full({1}, scale_, torch::dtype(torch::kFloat32).device(found_inf.device())),
      found_inf);
  // The host waits for the device only now, when all kernels are on their way.
  const bool found = found_inf.item<float>() != 0;
  unscaled_[address] = {found, /*stepped=*/true};
  return !found;
}

void GradScaler::update() {
  if (unscaled_.empty())
    throw std::logic_error{"GradScaler: update() without an unscale() or step() before it"};
  bool found_inf = false;
  for (const auto& [optimizer, unscaled] : unscaled_) found_inf |= unscaled.found_inf;
  unscaled_.clear();
  if (!options_.enabled) return;
  if (found_inf) {
    scale_ = static_cast<float>(scale_ * options_.backoff_factor);
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == options_.growth_interval) {
    const double grown = scale_ * options_.growth_factor;
    if (grown <= std::numeric_limits<float>::max()) scale_ = static_cast<float>(grown);
    growth_tracker_ = 0;
  }
}

void GradScaler::load(const State& state) {
  require(state.scale > 0, "the scale to load", state.scale, "more than 0");
  scale_ = state.scale;
  growth_tracker_ = state.growth_tracker;
}

std::string GradScaler::save_state() const {
  return nlohmann::json{{"scale", scale_},
                        {"growth_factor", options_.growth_factor},
                        {"backoff_factor", options_.backoff_factor},
                        {"growth_interval", options_.growth_interval},
                        {"_growth_tracker", growth_tracker_}}
      .dump();
}

void GradScaler::restore_state(const std::string& state) try {
  const auto saved = nlohmann::json::parse(state);
  load({saved.at("scale"), saved.at("_growth_tracker")});
} catch (const nlohmann::json::exception& e) {
  throw std::invalid_argument{std::string{"the saved state is not of a GradScaler: "} + e.what()};
}

}  // namespace ddprun::sdk
