// DistributedDataParallel: a module whose gradients are averaged over all workers while the
// backward pass still runs.
//
// The same algorithm as torch.nn.parallel.DistributedDataParallel, and the same code where it
// counts (c10d::Reducer): https://docs.pytorch.org/docs/stable/notes/ddp.html. Options and words
// are those of
// https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
#pragma once

#include <torch/torch.h>

#include <ddprun/output_tensors.hpp>
#include <ddprun/process_group.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace c10d {
class Reducer;
}

namespace ddprun::sdk {

struct DdpOptions {
  /// Gradients are reduced in buckets of this many MiB; the first one has 1 MiB at most, so that
  /// communication begins early. Errors: std::invalid_argument where it is not above 0.
  double bucket_cap_mb = 25;
  /// Some parameters get no gradient in some steps: the graph is searched for them in every
  /// forward(). A parameter that no rank used keeps the gradient that it had.
  bool find_unused_parameters = false;
  /// Rank 0's buffers (running means, for one) before every forward().
  bool broadcast_buffers = true;
  /// The same parameters are used, equally often, in every step: unused ones are found in the first
  /// step alone, and a parameter may be used several times in a checkpointed graph.
  bool static_graph = false;
};

struct JoinOptions {
  /// Gradients are divided by the number of all ranks, so that every sample weighs the same,
  /// however many ranks still have some; else by the number of ranks that have.
  bool divide_by_initial_world_size = true;
  /// Nobody goes on when one rank has run out: all throw std::runtime_error in their next step.
  bool throw_on_early_termination = false;
};

/// What does not depend on the module's type.
class DdpCore {
 public:
  DdpCore(torch::nn::Module& module, const ProcessGroup& group, const DdpOptions& options);
  ~DdpCore();
  DdpCore(const DdpCore&) = delete;
  DdpCore& operator=(const DdpCore&) = delete;

  void before_forward();
  /// May put other tensors of the same values in the outputs' places.
  void after_forward(const TensorRefs& outputs);
  void reduce_in_next_backward();
  void zero_grad();
  void join(const std::function<void()>& train, const JoinOptions& options);

  void set_sync_gradients(bool sync) { sync_gradients_ = sync; }
  bool sync_gradients() const { return sync_gradients_; }

 private:
  struct Sink;
  struct FirstStep;

  std::shared_ptr<c10d::Reducer> make_reducer(const torch::nn::Module& module) const;
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
  std::vector<torch::Tensor> parameters_;  // those that need gradients
  std::vector<torch::Tensor> buffers_;
  std::shared_ptr<c10d::Reducer> reducer_;
  c10::intrusive_ptr<FirstStep> first_step_;
  bool sync_gradients_ = true;
  std::optional<JoinOptions> join_;  // while join() trains
  bool sync_buffers_ = true;         // not after a forward() whose gradients were not reduced
};

/// While it lives, backward() of what forward() returned adds to the gradients of this rank alone.
/// It must not outlive its DistributedDataParallel.
class [[nodiscard]] NoSync {
 public:
  explicit NoSync(DdpCore& core) : core_{core}, before_{core.sync_gradients()} {
    core_.set_sync_gradients(false);
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
/// Parameters of every floating dtype; sparse gradients
/// (torch::nn::Embedding with sparse(true)) are reduced as such.
///
/// Errors: std::invalid_argument, on all ranks alike, when their parameters differ in number, name,
/// shape, dtype or strides (what() names the first such parameter and the ranks), and when there
/// is none that needs a gradient. c10::Error from forward() when some parameter got no gradient in
/// the step before and find_unused_parameters is not set.
template <typename Module>
class DistributedDataParallel {
 public:
  DistributedDataParallel(std::shared_ptr<Module> module, const ProcessGroup& group,
                          const DdpOptions& options = {})
      : module_{std::move(module)}, core_{*module_, group, options} {}

  /// The module's forward(): it returns a tensor, or a tuple, pair, vector or array of such. The
  /// backward() that follows leaves in every parameter's grad() the mean over all ranks. Buffers
  /// are broadcast as Python's DDP does it, under torch::NoGradGuard too: one rank that evaluates
  /// alone calls module().forward().
  template <typename... Inputs>
  auto forward(Inputs&&... inputs) {
    core_.before_forward();
    auto output = module_->forward(std::forward<Inputs>(inputs)...);
    core_.after_forward(output_tensors(output));
    return output;
  }

  /// For gradient accumulation: `{ const auto guard = ddp.no_sync(); forward and backward... }`,
  /// then the last forward() and backward() outside reduce the sum. forward() must be inside, too.
  /// (DistributedDataParallel.no_sync in the page above.)
  NoSync no_sync() { return NoSync{core_}; }

  /// For schedules with several forward passes before the backward passes (Pipeline): forward() is
  /// called inside no_sync() always, and this before the last backward(), which reduces the sum.
  /// Errors: std::logic_error with find_unused_parameters or static_graph.
  void reduce_in_next_backward() { core_.reduce_in_next_backward(); }

  /// Calls `train`, in which the ranks may take different numbers of steps: a rank whose `train`
  /// has returned takes part in the others' reductions, with zeros, until all have returned; then
  /// all get the model of the rank that had the most (of several, the one with the highest number).
  /// On all ranks, which otherwise do nothing together meanwhile (each loads its own data, nobody
  /// saves a checkpoint in there). Buffers are those of the highest rank that still trains. As in
  /// Python (DistributedDataParallel.join in the page above). Errors: std::logic_error with
  /// static_graph, within another join(), and for a forward() under torch::NoGradGuard in `train`:
  /// evaluate with module().forward(); what `train` throws, and then the others wait in vain.
  template <typename Train>
  void join(Train&& train, const JoinOptions& options = {}) {
    core_.join(std::function<void()>{std::ref(train)}, options);
  }

  /// Call it in place of Optimizer::zero_grad(): gradients are views of the buckets that are
  /// reduced, which the optimizer cannot detach, so they are set to undefined.
  void zero_grad() { core_.zero_grad(); }

  Module& module() { return *module_; }
  const Module& module() const { return *module_; }

 private:
  std::shared_ptr<Module> module_;
  DdpCore core_;
};

}  // namespace ddprun::sdk
