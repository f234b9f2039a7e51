// LRScheduler: sets an optimizer's learning rates by a schedule.
//
// It is torch.optim.lr_scheduler
// (https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate).
#pragma once

#include <torch/torch.h>

#include <ddprun/lr_schedule.hpp>
#include <ddprun/stateful.hpp>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::sdk {

class LrRule;

/// Follows one schedule, from the optimizer's learning rates on:
///
///     LRScheduler scheduler{optimizer, SequentialLR{{LinearLR{.start_factor = 0.01,
///                                                             .total_iters = 100},
///                                                    CosineAnnealingLR{.T_max = 900}}, {100}}};
///     ...
///     optimizer.step();
///     scheduler.step();
///
/// Make it before a checkpoint is loaded. The checkpoint brings back the rates, which are among the
/// optimizer's options; `checkpointer.keep("scheduler", scheduler)` keeps how far the schedule is.
/// One optimizer has one scheduler: several schedules go into a SequentialLR or a ChainedScheduler.
/// Of a ZeroRedundancyOptimizer give the optimizer within it. The optimizer must outlive this.
class LRScheduler : public Stateful {
 public:
  /// Sets the rates of step 0. Errors: std::invalid_argument for a schedule that makes no sense,
  /// or that changes a momentum which the optimizer lacks.
  LRScheduler(torch::optim::Optimizer& optimizer, const Schedule& schedule);
  ~LRScheduler() override;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Sets the rates of the next step. Call it after the optimizer's step(). Errors:
  /// std::out_of_range after the last step of a OneCycleLR.
  void step();

  /// Returns the rates that were set last, one for each group of parameters.
  std::vector<double> get_last_lr() const;

  /// Returns how far the schedule is, as JSON under the names of Python's state_dict(); Python's
  /// load_state_dict() takes it. What the schedule was made with is not in it.
  std::string save_state() const override;

  /// Goes on from there, also from json.dumps(scheduler.state_dict()) of Python, with the schedule
  /// that this one was made with. The optimizer's rates stay as they are. Errors:
  /// std::invalid_argument for the state of another kind of schedule.
  void restore_state(const std::string& state) override;

 private:
  torch::optim::Optimizer& optimizer_;
  std::unique_ptr<LrRule> rule_;
};

}  // namespace ddprun::sdk
