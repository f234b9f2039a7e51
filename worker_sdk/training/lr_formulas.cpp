#include "worker_sdk/training/lr_formulas.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace ddprun::sdk {

using std::numbers::pi;

void require_of_schedule(bool holds, const std::string& expected) {
  if (!holds) throw std::invalid_argument{"expected of a schedule: " + expected};
}

void check(const ConstantLR& rule, std::size_t) {
  require_of_schedule(rule.factor > 0 && rule.factor <= 1,
                      "a ConstantLR's factor from more than 0 to 1");
  require_of_schedule(rule.total_iters >= 1, "a ConstantLR's total_iters from 1 on");
}
double next_rate(const ConstantLR& rule, const RateStep& at, double lr) {
  if (at.step == 0) return lr * rule.factor;
  return at.step == rule.total_iters ? lr * (1.0 / rule.factor) : lr;
}
double first_rate(const ConstantLR& rule, double base) { return base * rule.factor; }

void check(const LinearLR& rule, std::size_t) {
  require_of_schedule(rule.start_factor > 0 && rule.start_factor <= 1,
                      "a LinearLR's start_factor from more than 0 to 1");
  require_of_schedule(rule.end_factor >= 0 && rule.end_factor <= 1,
                      "a LinearLR's end_factor from 0 to 1");
  require_of_schedule(rule.total_iters >= 1, "a LinearLR's total_iters from 1 on");
}
double next_rate(const LinearLR& rule, const RateStep& at, double lr) {
  if (at.step == 0) return lr * rule.start_factor;
  if (at.step > rule.total_iters) return lr;
  const double rise = rule.end_factor - rule.start_factor;
  return lr * (1.0 + rise / (static_cast<double>(rule.total_iters) * rule.start_factor +
                             static_cast<double>(at.step - 1) * rise));
}
double first_rate(const LinearLR& rule, double base) { return base * rule.start_factor; }

void check(const StepLR& rule, std::size_t) {
  require_of_schedule(rule.step_size >= 1, "a StepLR's step_size from 1 on");
}
double next_rate(const StepLR& rule, const RateStep& at, double lr) {
  return at.step == 0 || at.step % rule.step_size != 0 ? lr : lr * rule.gamma;
}
double first_rate(const StepLR&, double base) { return base; }

void check(const ExponentialLR&, std::size_t) {}
double next_rate(const ExponentialLR& rule, const RateStep& at, double lr) {
  return at.step == 0 ? lr : lr * rule.gamma;
}
double first_rate(const ExponentialLR&, double base) { return base; }

void check(const CosineAnnealingLR& rule, std::size_t) {
  require_of_schedule(rule.T_max >= 1, "a CosineAnnealingLR's T_max from 1 on");
}
double next_rate(const CosineAnnealingLR& rule, const RateStep& at, double lr) {
  if (at.step == 0) return lr;
  const auto period = static_cast<double>(rule.T_max);
  if ((at.step - 1 - rule.T_max) % (2 * rule.T_max) == 0)
    return lr + (at.base - rule.eta_min) * (1 - std::cos(pi / period)) / 2;
  return (1 + std::cos(pi * static_cast<double>(at.step) / period)) /
             (1 + std::cos(pi * static_cast<double>(at.step - 1) / period)) * (lr - rule.eta_min) +
         rule.eta_min;
}
double first_rate(const CosineAnnealingLR& rule, double base) {
  return rule.eta_min + (base - rule.eta_min) * (1 + std::cos(0.0)) / 2;
}

void check(const LambdaLR& rule, std::size_t groups) {
  require_of_schedule(rule.lr_lambda.size() == 1 || rule.lr_lambda.size() == groups,
                      "one function in a LambdaLR, or one for each group of parameters");
  for (const auto& function : rule.lr_lambda)
    require_of_schedule(function != nullptr, "functions in LambdaLR");
}
double next_rate(const LambdaLR& rule, const RateStep& at, double) {
  return at.base * rule.lr_lambda[rule.lr_lambda.size() == 1 ? 0 : at.group](at.step);
}

void check(const OneCycleLR& rule, std::size_t groups) {
  const auto fits = [&](const std::vector<double>& numbers) {
    return numbers.size() == 1 || numbers.size() == groups;
  };
  require_of_schedule(rule.total_steps >= 1, "a OneCycleLR's total_steps from 1 on");
  require_of_schedule(rule.pct_start >= 0 && rule.pct_start <= 1,
                      "a OneCycleLR's pct_start from 0 to 1");
  require_of_schedule(fits(rule.max_lr) && fits(rule.base_momentum) && fits(rule.max_momentum),
                      "one number in a OneCycleLR's lists, or one for each group of parameters");
}

namespace {

std::vector<CyclePhase> phases(const OneCycleLR& rule) {
  using enum CyclePhase::Rate;
  const auto steps = static_cast<double>(rule.total_steps);
  const CyclePhase up{rule.pct_start * steps - 1, kInitial, kMax, true, false};
  if (!rule.three_phase) return {up, {steps - 1, kMax, kMin, false, true}};
  return {up,
          {2 * rule.pct_start * steps - 2, kMax, kInitial, false, true},
          {steps - 1, kInitial, kMin, true, true}};
}

}  // namespace

CyclePlace place_in_cycle(const OneCycleLR& rule, std::int64_t step) {
  if (step > rule.total_steps)
    throw std::out_of_range{"step " + std::to_string(step) + " of a OneCycleLR of " +
                            std::to_string(rule.total_steps) + " steps"};
  const std::vector<CyclePhase> all = phases(rule);
  const auto now = static_cast<double>(step);
  double begin = 0;
  auto phase = all.begin();
  for (; now > phase->end_step && std::next(phase) != all.end(); ++phase) begin = phase->end_step;
  require_of_schedule(phase->end_step != begin, "phases of a OneCycleLR that last a step or more");
  return {*phase, (now - begin) / (phase->end_step - begin)};
}

double anneal(Annealing how, double from, double to, double share) {
  if (how == Annealing::kLinear) return (to - from) * share + from;
  return to + (from - to) / 2.0 * (std::cos(pi * share) + 1);
}

}  // namespace ddprun::sdk
