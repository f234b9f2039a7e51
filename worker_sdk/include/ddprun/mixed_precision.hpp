// Mixed precision: forward passes in float16 or bfloat16 where that is accurate enough, and
// gradients that do not vanish in it. Parameters and gradients stay float32, so DDP, checkpoints
// and optimizers are used as ever.
//
// The same as torch.amp (https://docs.pytorch.org/docs/stable/amp.html), whose autocast lists of
// operators are used, and whose examples
// (https://docs.pytorch.org/docs/stable/notes/amp_examples.html) hold word by word.
#pragma once

#include <torch/torch.h>

#include <ddprun/process_group.hpp>
#include <map>
#include <optional>
#include <vector>

namespace ddprun::sdk {

/// While it lives, operators on this thread choose their dtype as torch.autocast has it: `dtype`
/// for matrix products and convolutions, float32 where precision matters. Around forward() and the
/// loss; backward() comes after it. kFloat16 or kBFloat16 on CUDA and CPU; bfloat16 needs no
/// GradScaler. Errors: std::invalid_argument for another dtype.
class [[nodiscard]] Autocast {
 public:
  explicit Autocast(torch::DeviceType device, torch::ScalarType dtype = torch::kBFloat16,
                    bool enabled = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  torch::DeviceType device_;
  bool enabled_before_;
  torch::ScalarType dtype_before_;
};

/// Defaults and meanings are those of
/// https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;     // after `growth_interval` steps without inf or NaN
  double backoff_factor = 0.5;  // after a step with one
  std::int64_t growth_interval = 2000;
  bool enabled = true;  // false: scale() and unscale() do nothing, step() is the optimizer's
  /// Set where the ranks of a group hold different parameters (Pipeline): a step that one of them
  /// must leave out is left out by all. DDP does not need it: its gradients are the same
  /// everywhere.
  std::optional<ProcessGroup> shards = {};
};

/// Multiplies the loss so that small gradients survive float16, and leaves steps out whose
/// gradients were too big:
///
///     scaler.scale(loss).backward();
///     scaler.unscale(optimizer);  // only where gradients are looked at, to clip them for one
///     scaler.step(optimizer);
///     scaler.update();
///
/// An optimizer is a torch::optim::Optimizer or a ZeroRedundancyOptimizer; several may share a
/// scaler, with one update() for all. Not copyable: it knows its optimizers by their addresses.
class GradScaler {
 public:
  /// What a checkpoint needs: state() and load().
  struct State {
    double scale;
    std::int64_t growth_tracker;  // steps without inf or NaN since the scale last changed
  };

  /// Errors: std::invalid_argument for a growth factor not above 1, a backoff factor not between 0
  /// and 1, a scale not above 0 or an interval below 1.
  explicit GradScaler(const GradScalerOptions& options = {});
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  /// `loss` times the scale, on its device; a float16 scalar becomes float32, as 65536 would be
  /// inf.
  torch::Tensor scale(const torch::Tensor& loss);

  /// Divides the gradients by the scale, in place, and looks for inf and NaN in them. Errors:
  /// std::logic_error the second time before update(); std::invalid_argument for float16 gradients.
  template <typename Optimizer>
  void unscale(Optimizer& optimizer) {
    unscale_gradients(&optimizer, optimizer.param_groups());
  }

  /// Steps unless there was an inf or NaN; true when it did. Calls unscale() if you have not. Waits
  /// for the device. Errors: std::logic_error the second time before update().
  template <typename Optimizer>
  bool step(Optimizer& optimizer) {
    if (!may_step(&optimizer, optimizer.param_groups())) return false;
    optimizer.step();
    return true;
  }

  /// Grows or shrinks the scale; once a step, after all optimizers. Errors: std::logic_error when
  /// there was no unscale() or step() since the last one.
  void update();

  double get_scale() const { return scale_; }
  State state() const { return {scale_, growth_tracker_}; }
  void load(const State& state);

 private:
  struct Unscaled {
    bool found_inf;
    bool stepped = false;
  };
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  Unscaled& unscale_gradients(const void* optimizer, const Groups& groups);
  bool may_step(const void* optimizer, const Groups& groups);
  bool unscale_in_place(const Groups& groups) const;

  GradScalerOptions options_;
  double scale_;  // always a float32 number, as it is in Python
  std::int64_t growth_tracker_ = 0;
  std::map<const void*, Unscaled> unscaled_;  // since the last update(), by optimizer
};

}  // namespace ddprun::sdk
