// Schedules of the learning rate, as values: LRScheduler (lr_scheduler.hpp) follows one.
//
// Names, defaults and meanings are those of
// https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate. Most compute a rate
// from the one before, as Python's do, so the rates are equal to the last bit. Needs no LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

namespace ddprun::sdk {

/// The rate times `factor`, from more than 0 to 1, until step `total_iters`; then the rate itself.
struct ConstantLR {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
};

/// A factor that goes from `start_factor` to `end_factor` in `total_iters` equal steps: a linear
/// warm-up. Both are at most 1, the first is more than 0.
struct LinearLR {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  std::int64_t total_iters = 5;
};

/// The rate times `gamma` every `step_size` steps.
struct StepLR {
  std::int64_t step_size = 1;
  double gamma = 0.1;
};

/// The rate times `gamma` in each step.
struct ExponentialLR {
  double gamma = 1;
};

/// Half a cosine, from the rate down to `eta_min` in `T_max` steps, and up again after that.
struct CosineAnnealingLR {
  std::int64_t T_max = 1;
  double eta_min = 0;
};

/// The first rate times what the function says of the number of steps: one function for all groups
/// of parameters, or one for each.
struct LambdaLR {
  std::vector<std::function<double(std::int64_t)>> lr_lambda;
};

enum class Annealing { kCos, kLinear };

/// Up to `max_lr` in the first `pct_start` of `total_steps` steps, then down to almost nothing;
/// with `cycle_momentum`, the momentum (of Adam: beta1) goes the other way. Lists hold one number
/// for all groups of parameters, or one for each. After `total_steps` steps there is no further
/// one.
struct OneCycleLR {
  std::vector<double> max_lr;
  std::int64_t total_steps = 1;
  double pct_start = 0.3;
  Annealing anneal_strategy = Annealing::kCos;
  bool cycle_momentum = true;
  std::vector<double> base_momentum = {0.85};
  std::vector<double> max_momentum = {0.95};
  double div_factor = 25;         // the first rate is max_lr / div_factor
  double final_div_factor = 1e4;  // the last rate is the first / final_div_factor
  bool three_phase = false;       // down to the first rate as fast as up, and only then further
};

struct Schedule;

/// One schedule after the other: number i + 1 begins at step milestones[i], as if it were step 0.
/// None of them is a SequentialLR or ChainedScheduler: in Python, such a one does not begin where
/// it should.
struct SequentialLR {
  std::vector<Schedule> schedulers;
  std::vector<std::int64_t> milestones;  // ascending; one less than there are schedulers
};

/// All schedules in each step, in their order.
struct ChainedScheduler {
  std::vector<Schedule> schedulers;
};

/// Any of these.
struct Schedule : std::variant<ConstantLR, LinearLR, StepLR, ExponentialLR, CosineAnnealingLR,
                               LambdaLR, OneCycleLR, SequentialLR, ChainedScheduler> {
  using variant::variant;
};

}  // namespace ddprun::sdk
