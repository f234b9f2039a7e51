#include "ddprun/lr_scheduler.hpp"

#include <stdexcept>

#include "worker_sdk/training/lr_rule.hpp"

namespace ddprun::sdk {

namespace {

using torch::optim::OptimizerOptions;

/// Calls `with` on the options if they are of a kind that has betas, and tells whether they are.
template <typename With>
bool with_betas(OptimizerOptions& options, With with) {
  if (auto* adam = dynamic_cast<torch::optim::AdamOptions*>(&options)) return with(*adam), true;
  if (auto* adamw = dynamic_cast<torch::optim::AdamWOptions*>(&options)) return with(*adamw), true;
  return false;
}

template <typename With>
bool with_momentum(OptimizerOptions& options, With with) {
  if (auto* sgd = dynamic_cast<torch::optim::SGDOptions*>(&options)) return with(*sgd), true;
  if (auto* rms = dynamic_cast<torch::optim::RMSpropOptions*>(&options)) return with(*rms), true;
  return false;
}

ScheduledGroups read(torch::optim::Optimizer& optimizer) {
  ScheduledGroups groups;
  for (auto& group : optimizer.param_groups()) {
    OptimizerOptions& options = group.options();
    ScheduledGroup& read = groups.emplace_back();
    read.lr = read.initial_lr = options.get_lr();
    if (!with_betas(options, [&](auto& adam) { read.momentum = std::get<0>(adam.betas()); }))
      with_momentum(options, [&](auto& sgd) { read.momentum = sgd.momentum(); });
  }
  return groups;
}

void write(torch::optim::Optimizer& optimizer, const ScheduledGroups& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    OptimizerOptions& options = optimizer.param_groups()[i].options();
    options.set_lr(groups[i].lr);
    if (!groups[i].momentum) continue;
    const double momentum = *groups[i].momentum;
    if (!with_betas(options, [&](auto& adam) { std::get<0>(adam.betas()) = momentum; }))
      with_momentum(options, [&](auto& sgd) { sgd.momentum(momentum); });
  }
}

}  // namespace

LRScheduler::LRScheduler(torch::optim::Optimizer& optimizer, const Schedule& schedule)
    : optimizer_{optimizer} {
  ScheduledGroups groups = read(optimizer);
  rule_ = make_lr_rule(schedule, groups);
  write(optimizer, groups);
}

LRScheduler::~LRScheduler() = default;

void LRScheduler::step() {
  ScheduledGroups groups = read(optimizer_);
  rule_->step(groups);
  write(optimizer_, groups);
}

std::vector<double> LRScheduler::get_last_lr() const { return rule_->last_lr(); }

std::string LRScheduler::save_state() const { return rule_->state().dump(); }

void LRScheduler::restore_state(const std::string& state) try {
  rule_->load(nlohmann::json::parse(state));
} catch (const nlohmann::json::exception& e) {
  throw std::invalid_argument{std::string{"the saved state is not of this schedule: "} + e.what()};
}

}  // namespace ddprun::sdk
