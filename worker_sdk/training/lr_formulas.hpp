// The formulas of the schedules that compute each group's rate for itself.
//
// Each computes in the order of torch/optim/lr_scheduler.py of PyTorch 2.11, so that rates are
// Python's to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ddprun/lr_schedule.hpp"

namespace ddprun::sdk {

/// Where a rule stands. Python calls the members last_epoch and base_lr.
struct RateStep {
  std::int64_t step;
  double base;
  std::size_t group;
};

/// Errors: std::invalid_argument, "expected of a schedule: ", unless it holds.
void require_of_schedule(bool holds, const std::string& expected);

/// Refuses options that make no sense, for that many groups of parameters. Errors:
/// std::invalid_argument.
void check(const ConstantLR& rule, std::size_t groups);
void check(const LinearLR& rule, std::size_t groups);
void check(const StepLR& rule, std::size_t groups);
void check(const ExponentialLR& rule, std::size_t groups);
void check(const CosineAnnealingLR& rule, std::size_t groups);
void check(const LambdaLR& rule, std::size_t groups);
void check(const OneCycleLR& rule, std::size_t groups);

/// Returns the rate of step `at.step`; `lr` is the rate before.
double next_rate(const ConstantLR& rule, const RateStep& at, double lr);
double next_rate(const LinearLR& rule, const RateStep& at, double lr);
double next_rate(const StepLR& rule, const RateStep& at, double lr);
double next_rate(const ExponentialLR& rule, const RateStep& at, double lr);
double next_rate(const CosineAnnealingLR& rule, const RateStep& at, double lr);
double next_rate(const LambdaLR& rule, const RateStep& at, double lr);

/// Returns the rate of step 0 of a schedule whose time has come, whatever the rate was before. A
/// LambdaLR needs none: its rates never depend on those before.
double first_rate(const ConstantLR& rule, double base);
double first_rate(const LinearLR& rule, double base);
double first_rate(const StepLR& rule, double base);
double first_rate(const ExponentialLR& rule, double base);
double first_rate(const CosineAnnealingLR& rule, double base);

/// A OneCycleLR's phase: what goes from where to where until which step.
struct CyclePhase {
  enum Rate { kInitial, kMax, kMin };
  double end_step;
  Rate from, to;
  bool momentum_from_max, momentum_to_max;
};

/// Where in which phase a step is.
struct CyclePlace {
  CyclePhase phase;
  double share;  // the part of the phase that is over
};

/// Returns where in its phase step `step` is. Errors: std::out_of_range after the last step.
CyclePlace place_in_cycle(const OneCycleLR& rule, std::int64_t step);

/// Returns what lies between `from` and `to`.
double anneal(Annealing how, double from, double to, double share);

}  // namespace ddprun::sdk
