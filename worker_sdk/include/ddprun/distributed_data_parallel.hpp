// DistributedDataParallel: a module whose gradients are averaged over all workers while the
// backward pass still runs.
//
// The algorithm is that of torch.nn.parallel.DistributedDataParallel, and so is the code that
// reduces (c10d::Reducer): https://docs.pytorch.org/docs/stable/notes/ddp.html. Options have the
// names and meanings of
// https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <ddprun/output_tensors.hpp>
#include <ddprun/process_group.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace c10d {
class Reducer;
}

namespace ddprun::sdk {

/// What goes over the network, as Python's communication hooks
/// (https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html).
enum class CommHook {
  kAllReduce,     // the gradients as they are
  kFp16Compress,  // in float16: half of the bytes; gradients above 65504 become inf
  kBf16Compress,  // in bfloat16: half of the bytes, three digits, the range of float32
  kPowerSgd,      // as products of thin matrices: a small part of the bytes; DdpOptions::power_sgd
};

/// How gradients become products of thin matrices: PowerSGD (https://arxiv.org/abs/1905.13727).
/// Names, defaults and meanings are those of
/// https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html#powersgd-communication-hook
struct PowerSgdOptions {
  /// Columns of a thin matrix: usually 1 to 4, more for more accuracy, bytes and time.
  std::int64_t matrix_approximation_rank = 1;
  /// The first steps are sent as they are: a tenth of all, and not less than the warm-up.
  std::int64_t start_powerSGD_iter = 1000;
  /// A gradient that does not become smaller by this factor is sent as it is.
  double min_compression_rate = 2;
  /// What a step has lost is added to the gradients of the next one. It takes as much memory as the
  /// gradients.
  bool use_error_feedback = true;
  /// The matrices of a step are where the next one begins.
  bool warm_start = true;
  /// Set it to about 1e-8 where all gradients of a layer may be 0 in some step, which would divide
  /// by 0.
  double orthogonalization_epsilon = 0;
  std::uint32_t random_seed = 0;  // equal on all ranks
};

/// How gradients are reduced.
struct DdpOptions {
  /// Gradients are reduced in buckets of this many MiB; the first one has 1 MiB at most, so that
  /// communication begins early. Errors: std::invalid_argument where it is not above 0.
  double bucket_cap_mb = 25;
  /// Set it when some parameters get no gradient in some steps: every forward() then searches the
  /// graph for them. A parameter that no rank used keeps the gradient that it had.
  bool find_unused_parameters = false;
  /// Copies rank 0's buffers (running means, for one) to all ranks before every forward().
  bool broadcast_buffers = true;
  /// Gradients are views of the buckets that are reduced, which saves a copy of them in memory and
  /// in time. Then call DistributedDataParallel::zero_grad() in place of Optimizer::zero_grad(),
  /// which cannot detach a view.
  bool gradient_as_bucket_view = false;
  /// Set it when every step uses the same parameters equally often. Unused ones are then looked for
  /// in the first step alone, and a parameter may be used several times in a checkpointed graph.
  bool static_graph = false;
  /// For a network that is slower than the devices. It takes no sparse gradients, and within join()
  /// divides by the number of all ranks. Errors: std::invalid_argument with sparse gradients.
  CommHook comm_hook = CommHook::kAllReduce;
  /// For CommHook::kPowerSgd. What it remembers is not in checkpoints: after a resume the first
  /// steps are sent as they are again. Errors: std::invalid_argument for a rank below 1, a rate not
  /// above 0, and for less than 2 plain steps with use_error_feedback or warm_start.
  PowerSgdOptions power_sgd = {};
};

/// What join() does while some ranks have run out of inputs.
struct JoinOptions {
  /// True: gradients are divided by the number of all ranks, so that every sample weighs the same,
  /// however many ranks still have some. False: by the number of ranks that still have inputs.
  bool divide_by_initial_world_size = true;
  /// True: no rank goes on when one has run out; all throw std::runtime_error in their next
  /// step.
  bool throw_on_early_termination = false;
};

class DdpCore;

/// The DistributedDataParallels of a World, which asks them before it counts a step. Used by one
/// thread.
class Reductions {
 public:
  void add(const DdpCore& core) { cores_.push_back(&core); }
  void remove(const DdpCore& core) { std::erase(cores_, &core); }
  bool empty() const { return cores_.empty(); }

  /// Errors: std::runtime_error where the gradients of the last forward pass are not reduced yet.
  void require_done() const;

 private:
  std::vector<const DdpCore*> cores_;
};

/// The part of DistributedDataParallel that does not depend on the module's type. Programs use that
/// class, which documents what these functions do.
class DdpCore {
 public:
  DdpCore(torch::nn::Module& module, const ProcessGroup& group, const DdpOptions& options,
          std::shared_ptr<Reductions> reductions);
  ~DdpCore();
  DdpCore(const DdpCore&) = delete;
  DdpCore& operator=(const DdpCore&) = delete;

  /// Gets ready for the gradients of a forward pass that is about to begin.
  void before_forward();
  /// Takes note of what the forward pass returned. It may put other tensors with the same values in
  /// the places of `outputs`.
  void after_forward(const TensorRefs& outputs);
  void reduce_in_next_backward();
  void zero_grad();
  void join(const std::function<void()>& train, const JoinOptions& options);
  void require_reduced() const;

  void set_sync_gradients(bool sync) { sync_gradients_ = sync; }
  bool sync_gradients() const { return sync_gradients_; }

 private:
  struct Sink;
  struct FirstStep;

  std::shared_ptr<c10d::Reducer> make_reducer(const torch::nn::Module& module) const;
  void rebuild_buckets();
  [[noreturn]] void explain_unfinished(const c10::Error& error) const;
  void broadcast_from(int root, std::vector<torch::Tensor> tensors) const;
  bool broadcasts_buffers() const;

  void announce_forward();
  void announce_backward() const;
  void shadow_step();
  void share_final_model(bool has_shadowed) const;
  double sum_over_ranks(double value) const;
  int greatest_rank(bool candidate) const;

  ProcessGroup group_;
  DdpOptions options_;
  std::vector<torch::Tensor> parameters_;  // the module's, those that need gradients
  std::vector<std::string> names_;         // their names in the module
  std::vector<torch::Tensor> buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  c10::intrusive_ptr<FirstStep> first_step_;
  bool sync_gradients_ = true;
  bool has_sync_batch_norm_ = false;
  std::optional<JoinOptions> join_;  // set while join() trains
  bool sync_buffers_ = true;         // false after a forward() whose gradients were not reduced
  bool in_forward_ = false;          // it has begun, and has not ended well
  mutable std::shared_ptr<void> reduces_;   // set while a backward pass may wait for other ranks
  std::shared_ptr<Reductions> reductions_;  // nullptr outside of a World
};

/// While it lives, backward() of what forward() returned adds to the gradients of this rank alone.
/// It must not outlive its DistributedDataParallel.
class [[nodiscard]] NoSync {
 public:
  NoSync(DdpCore& core, bool enabled) : core_{core}, before_{core.sync_gradients()} {
    if (enabled) core_.set_sync_gradients(false);
  }
  ~NoSync() { core_.set_sync_gradients(before_); }
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  DdpCore& core_;
  bool before_;
};

/// Wraps `module`, which is on group.device() already (or on several devices of this worker: model
/// parallelism) and has the same parameters, in the same order, on all ranks. Construction compares
/// the ranks' parameters and copies rank 0's parameters and buffers to everybody. All ranks
/// construct their instances in the same order, and call forward and backward equally often.
/// Parameters may have every floating dtype. Sparse gradients (of a torch::nn::Embedding with
/// sparse(true)) are reduced as sparse ones, by Gloo alone.
///
/// Errors: std::invalid_argument, on all ranks alike, when their parameters differ in number, name,
/// shape, dtype or strides (what() names the first such parameter and the ranks), when there is
/// none that needs a gradient, when one tensor is registered under two names, and for sparse
/// gradients with NCCL. std::runtime_error from forward() when some parameter got no gradient in
/// the step before and find_unused_parameters is not set; it has their names.
template <typename Module>
class DistributedDataParallel {
 public:
  DistributedDataParallel(std::shared_ptr<Module> module, const ProcessGroup& group,
                          const DdpOptions& options = {},
                          std::shared_ptr<Reductions> reductions = nullptr)
      : module_{std::move(module)}, core_{*module_, group, options, std::move(reductions)} {}

  /// Calls the module's forward(), which returns a tensor, or a tuple, pair, vector or array of
  /// such, and returns what that returned. The backward() that follows leaves in every parameter's
  /// grad() the mean over all ranks. Buffers are broadcast under torch::NoGradGuard too, as in
  /// Python's DDP, so a rank that evaluates alone calls module().forward().
  template <typename... Inputs>
  auto forward(Inputs&&... inputs) {
    core_.before_forward();
    auto output = module_->forward(std::forward<Inputs>(inputs)...);
    core_.after_forward(output_tensors(output));
    return output;
  }

  /// Accumulates gradients without reducing them: `{ const auto guard = ddp.no_sync(); forward and
  /// backward... }`. The last forward() and backward(), outside, reduce the sum. forward() must be
  /// inside, too. With `enabled` false, everything is as without it: `ddp.no_sync(step % 4 != 3)`.
  /// It is DistributedDataParallel.no_sync in the page above.
  NoSync no_sync(bool enabled = true) { return NoSync{core_, enabled}; }

  /// Serves schedules with several forward passes before the backward passes (Pipeline): they call
  /// forward() inside no_sync() always, and this before the last backward(), which then reduces the
  /// sum. Errors: std::logic_error with find_unused_parameters or static_graph, and within join().
  void reduce_in_next_backward() { core_.reduce_in_next_backward(); }

  /// Calls `train`, in which the ranks may take different numbers of steps: a rank whose `train`
  /// has returned takes part in the others' reductions, with zeros, until all have returned. Then
  /// all get the model of the rank that took most steps; of several, that of the one with the
  /// highest number. All ranks call it, and do nothing else together meanwhile: each loads its own
  /// data, and none saves a checkpoint in there. Buffers are those of the highest rank that still
  /// trains. It is DistributedDataParallel.join in the page above. Errors: std::logic_error with
  /// static_graph, with a SyncBatchNorm unless throw_on_early_termination is set, within another
  /// join(), and for a forward() under torch::NoGradGuard in `train`: evaluate with
  /// module().forward(). What `train` throws comes out, and then the others wait in vain.
  template <typename Train>
  void join(Train&& train, const JoinOptions& options = {}) {
    core_.join(std::function<void()>{std::ref(train)}, options);
  }

  /// Sets all gradients to undefined, as Optimizer::zero_grad() does; that one cannot work with
  /// gradient_as_bucket_view.
  void zero_grad() { core_.zero_grad(); }

  /// The module that was given, for evaluation, checkpoints and its optimizer.
  Module& module() { return *module_; }
  const Module& module() const { return *module_; }

 private:
  std::shared_ptr<Module> module_;
  DdpCore core_;
};

}  // namespace ddprun::sdk
