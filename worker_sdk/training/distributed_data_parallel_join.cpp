// DdpCore::join(): what ranks without inputs do while the others still train. Every collective here
// has its counterpart in before_forward() or in the Reducer's backward pass; both are those of
// Python's DDP (https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html).
#include <stdexcept>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "ddprun/distributed_data_parallel.hpp"

namespace ddprun::sdk {

namespace {

constexpr char kWho[] = "DistributedDataParallel: ";

[[noreturn]] void terminate_early(const ProcessGroup& group, const std::string& who) {
  throw std::runtime_error{kWho + ("join() (rank " + std::to_string(group.rank())) + " of " +
                           std::to_string(group.size()) + "): " + who +
                           ", and throw_on_early_termination is set"};
}

}  // namespace

void DdpCore::join(const std::function<void()>& train, const JoinOptions& options) {
  if (options_.static_graph)
    throw std::logic_error{std::string{kWho} + "join() does not work with static_graph"};
  if (join_) throw std::logic_error{std::string{kWho} + "join() within join()"};
  if (has_sync_batch_norm_ && !options.throw_on_early_termination)
    throw std::logic_error{
        std::string{kWho} +
        "join() with a SyncBatchNorm: a rank without inputs takes no part in the statistics, and "
        "the others would wait for it; set throw_on_early_termination"};
  struct Scope {
    DdpCore& core;
    ~Scope() {
      core.join_.reset();
      // Otherwise the next backward pass would divide by the number of ranks in the last step.
      core.reducer_->set_forward_pass_work_handle({}, true);
    }
  };
  const Scope scope{*this};
  join_ = options;
  train();
  bool has_shadowed = false;
  for (; sum_over_ranks(0) > 0; has_shadowed = true) {
    if (options.throw_on_early_termination) {
      sum_over_ranks(1);
      terminate_early(group_, "this rank has no inputs left");
    }
    shadow_step();
  }
  share_final_model(has_shadowed);
}

/// Tells the others that this rank takes a step, and counts how many do. The Reducer waits for that
/// number when it has to divide by it.
void DdpCore::announce_forward() {
  if (!torch::GradMode::is_enabled())
    throw std::logic_error{
        std::string{kWho} +
        "forward() under NoGradGuard within join(): the ranks that have returned "
        "cannot know of it; evaluate with module().forward()"};
  std::vector<torch::Tensor> active{torch::ones({1}, group_.device())};
  reducer_->set_forward_pass_work_handle(group_.c10d_group()->allreduce(active),
                                         join_->divide_by_initial_world_size);
  if (join_->throw_on_early_termination && sum_over_ranks(0) > 0)
    terminate_early(group_, "another rank has no inputs left");
}

/// Tells the ranks that shadow this step whether its gradients will be reduced.
void DdpCore::announce_backward() const { sum_over_ranks(sync_gradients_ ? 1 : 0); }

/// Takes part, with zeros, in the collectives of a step that other ranks take.
void DdpCore::shadow_step() {
  reducer_->rebuild_buckets();
  if (broadcasts_buffers()) broadcast_from(greatest_rank(false), buffers_);
  sync_buffers_ = sum_over_ranks(0) > 0;
  if (!sync_buffers_) return;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> reductions;
  for (c10d::GradBucket& zeros : reducer_->get_grad_buckets(/*return_zero_tensors=*/true))
    reductions.push_back(reducer_->run_comm_hook(zeros));
  for (const auto& reduction : reductions) reduction->waitAndThrow();
  if (options_.find_unused_parameters)
    group_.all_reduce(torch::zeros_like(reducer_->get_local_used_map_on_device()));
  reducer_->push_rebuilt_params_for_all_indices();
}

/// Copies the model of a rank that trained longest to all. Such a rank has shadowed no step.
void DdpCore::share_final_model(bool has_shadowed) const {
  std::vector<torch::Tensor> state = parameters_;
  if (options_.broadcast_buffers) state.insert(state.end(), buffers_.begin(), buffers_.end());
  broadcast_from(greatest_rank(!has_shadowed), state);
}

double DdpCore::sum_over_ranks(double value) const {
  const torch::Tensor sum = torch::full({1}, value, group_.device());
  group_.all_reduce(sum);
  return sum.item<double>();
}

/// Returns the highest rank for which `candidate` is true. All ranks call it, and at least one is a
/// candidate.
int DdpCore::greatest_rank(bool candidate) const {
  const torch::Tensor rank =
      torch::full({1}, candidate ? group_.rank() : -1,
                  torch::TensorOptions{}.dtype(torch::kInt64).device(group_.device()));
  group_.all_reduce(rank, ReduceOp::MAX);
  return rank.item<int>();
}

}  // namespace ddprun::sdk
