// Mixed precision: forward passes in float16 or bfloat16 where that is accurate enough, and
// gradients that do not vanish in it. Parameters and gradients stay float32, so DDP, checkpoints
// and optimizers are used as ever.
//
// It is torch.amp (https://docs.pytorch.org/docs/stable/amp.html) and uses the lists of operators
// that LibTorch has for it. The examples of
// https://docs.pytorch.org/docs/stable/notes/amp_examples.html hold word by word.
#pragma once

#include <torch/torch.h>

#include <ddprun/fused_step.hpp>
#include <ddprun/process_group.hpp>
#include <ddprun/stateful.hpp>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace ddprun::sdk {

/// While it lives, operators on this thread choose their dtype as torch.autocast has it: `dtype`
/// for matrix products and convolutions, float32 where precision matters. Put it around forward()
/// and the loss, and call backward() after it has gone. `dtype` is kFloat16 or kBFloat16, on CUDA
/// and CPU; not given, it is Python's: kFloat16 on CUDA and kBFloat16 on the CPU, or that of the
/// scope around this one. bfloat16 needs no GradScaler. Errors: std::invalid_argument for another
/// dtype.
class [[nodiscard]] Autocast {
 public:
  explicit Autocast(torch::DeviceType device, std::optional<torch::ScalarType> dtype = {},
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
  double init_scale = 65536;            // the loss is multiplied with it at first
  double growth_factor = 2;             // for the scale after `growth_interval` good steps
  double backoff_factor = 0.5;          // for the scale after a step with inf or NaN
  std::int64_t growth_interval = 2000;  // steps without inf or NaN
  bool enabled = true;  // false: scale() and unscale() do nothing, and step() always steps
  /// Set where the ranks of a group hold different parameters (Pipeline): a step that one of them
  /// must leave out is left out by all. DDP does not need it: its gradients are the same
  /// everywhere.
  std::optional<ProcessGroup> shards = {};
};

/// Multiplies the loss so that small gradients survive float16, and leaves out steps whose
/// gradients were too big:
///
///     scaler.scale(loss).backward();
///     scaler.unscale(optimizer);  // only if you look at gradients, for example to clip them
///     scaler.step(optimizer);
///     scaler.update();
///
/// An optimizer is a torch::optim::Optimizer or a ZeroRedundancyOptimizer; several may share a
/// scaler, with one update() for all. Not copyable: it knows its optimizers by their addresses.
class GradScaler : public Stateful {
 public:
  /// What a checkpoint holds of it; state() gives it and load() takes it.
  struct State {
    double scale;
    std::int64_t growth_tracker;  // steps without inf or NaN since the scale last changed
  };

  /// Errors: std::invalid_argument for a growth factor not above 1, a backoff factor not between 0
  /// and 1, a scale not above 0 or an interval below 1.
  explicit GradScaler(const GradScalerOptions& options = {});
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  /// Returns `loss` times the scale, on its device. A float16 scalar becomes float32, because 65536
  /// would be inf.
  torch::Tensor scale(const torch::Tensor& loss);

  /// Divides the optimizer's gradients by the scale, in place, and looks for inf and NaN in them.
  /// Errors: std::logic_error when it is called twice before update(); std::invalid_argument for
  /// float16 gradients.
  template <typename Optimizer>
  void unscale(Optimizer& optimizer) {
    unscale_gradients(&optimizer, optimizer.param_groups());
  }

  /// Calls optimizer.step() unless a gradient is inf or NaN, and returns whether it did. It calls
  /// unscale() if you have not, and waits for the device. A fused optimizer unscales by itself, and
  /// the wait comes when its kernels are on their way. Errors: those of unscale();
  /// std::logic_error when it is called twice before update().
  template <typename Optimizer>
  bool step(Optimizer& optimizer) {
    if constexpr (std::is_polymorphic_v<Optimizer>)
      if (auto* fused = dynamic_cast<FusedStep*>(&optimizer);
          fused != nullptr && options_.enabled && !unscaled_.contains(&optimizer))
        return step_fused(*fused, &optimizer, optimizer.param_groups());
    if (!may_step(&optimizer, optimizer.param_groups())) return false;
    optimizer.step();
    return true;
  }

  /// Grows or shrinks the scale. Call it once a step, after all optimizers. Errors:
  /// std::logic_error when nothing was unscaled since the last time.
  void update();

  /// The factor that scale() multiplies with.
  double get_scale() const { return scale_; }

  /// What to save.
  State state() const { return {scale_, growth_tracker_}; }

  /// Goes on where a scaler stood. Errors: std::invalid_argument for a scale that is not above 0.
  void load(const State& state);

  /// Returns the state as JSON, under the names of Python's GradScaler.state_dict(), which Python's
  /// load_state_dict() takes; Checkpointer::keep() uses it. restore_state() takes Python's, and
  /// leaves the options as they are. Errors: std::invalid_argument.
  std::string save_state() const override;
  void restore_state(const std::string& state) override;

 private:
  struct Unscaled {
    bool found_inf;
    bool stepped = false;
  };
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  Unscaled& unscale_gradients(const void* optimizer, const Groups& groups);
  bool may_step(const void* optimizer, const Groups& groups);
  bool step_fused(FusedStep& optimizer, const void* address, const Groups& groups);
  /// Multiplies the gradients in place, and returns a float32 tensor of one number: 0 if all were
  /// finite.
  torch::Tensor multiply(const Groups& groups, double factor) const;

  GradScalerOptions options_;
  double scale_;  // always a float32 number, as it is in Python
  std::int64_t growth_tracker_ = 0;
  std::map<const void*, Unscaled> unscaled_;  // since the last update(), by optimizer
};

}  // namespace ddprun::sdk
