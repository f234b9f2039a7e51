// ZeroRedundancyOptimizer: spreads an optimizer's state over the ranks. Each rank keeps the state
// of its share of the parameters, updates these, and hands them on to the others.
//
// It is torch.distributed.optim.ZeroRedundancyOptimizer
// (https://docs.pytorch.org/docs/stable/distributed.optim.html), which is stage 1 of ZeRO
// (https://arxiv.org/abs/1910.02054). With Adam and N ranks, a rank keeps 2/N floats for every
// parameter in place of 2. Gradients and parameters are whole on all ranks, so clipping and DDP are
// used as ever.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <ddprun/process_group.hpp>
#include <vector>

namespace ddprun::sdk {

/// Wraps an optimizer that was made for all parameters, with all its groups and options:
///
///     torch::optim::Adam adam{network->parameters(), 1e-3};
///     ZeroRedundancyOptimizer optimizer{adam, group};
///     ...
///     optimizer.step();
///
/// Learning rates are changed in `adam` (or by a scheduler on it); checkpoints are of `adam`, too:
///
///     if (it is time for one) optimizer.consolidate();
///     checkpointer.save(*network, adam, progress);
///
/// After a checkpoint was loaded into `adam`, on all ranks, the next step() drops what belongs to
/// others. Parameters are moved into one buffer a rank, dtype and device, in which they stay: do
/// not move the module to another device afterwards. The optimizer must outlive it.
class ZeroRedundancyOptimizer {
 public:
  /// All ranks call it, with the same parameters, which are on group.device(). Errors:
  /// std::invalid_argument for LBFGS, whose state is not one of single parameters, and for a
  /// parameter on another device or with strides that leave gaps.
  ZeroRedundancyOptimizer(torch::optim::Optimizer& optimizer, const ProcessGroup& group);
  ZeroRedundancyOptimizer(const ZeroRedundancyOptimizer&) = delete;
  ZeroRedundancyOptimizer& operator=(const ZeroRedundancyOptimizer&) = delete;

  /// Updates the parameters and hands them on. All ranks call it, and then all have all updated
  /// parameters. Errors: what the optimizer's step() throws; CommunicationError.
  void step();

  /// Gathers the state at rank `to`, where the optimizer has all of it until the next step(): its
  /// own part where it was, and that of the other ranks on the CPU. All ranks call it. Errors:
  /// std::invalid_argument for an optimizer that optimizer_state() does not know;
  /// CommunicationError.
  void consolidate(int to = 0);

  /// The rank that updates each parameter, in the order of the groups. They were dealt out
  /// greedily: the biggest first, always to the rank that had least so far.
  const std::vector<int>& owners() const { return owners_; }

  /// The wrapped optimizer's groups, which hold learning rates, and in which GradScaler looks for
  /// gradients.
  std::vector<torch::optim::OptimizerParamGroup>& param_groups() {
    return optimizer_.param_groups();
  }

 private:
  /// The parameters of one rank, dtype and device, side by side in memory.
  struct Shard {
    int owner;
    torch::Tensor flat;
  };

  void make_shards();
  Shard make_shard(int owner, const std::vector<std::size_t>& members);
  void drop_others_state();

  torch::optim::Optimizer& optimizer_;
  ProcessGroup group_;
  std::vector<torch::Tensor> parameters_;
  std::vector<int> owners_;
  std::size_t own_count_ = 0;
  std::vector<Shard> shards_;
};

}  // namespace ddprun::sdk
