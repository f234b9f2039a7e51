// The operations of ProcessGroup that compute: all_reduce, reduce and reduce_scatter.
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <utility>

#include "worker_sdk/group/collective_checks.hpp"
#include "worker_sdk/group/process_group_state.hpp"
#include "worker_sdk/group/single_tensors.hpp"

namespace ddprun::sdk {

namespace {

/// A reduction in terms of those that the backend has. Gloo neither averages nor multiplies, so
/// this divides after its sum, or multiplies before.
class Reduction {
 public:
  Reduction(ReduceOp op, int size, bool nccl)
      : op_{std::move(op)},
        size_{size},
        averages_{!nccl && op_.op_ == ReduceOp::AVG},
        multiplies_{!nccl && op_.op_ == ReduceOp::PREMUL_SUM} {}

  ReduceOp backend_op() const { return averages_ || multiplies_ ? ReduceOp{ReduceOp::SUM} : op_; }

  /// Returns what goes into the sum: `tensor` itself, or a new one.
  torch::Tensor before(const torch::Tensor& tensor) const {
    if (!multiplies_) return tensor;
    const torch::NoGradGuard no_grad;
    const auto* factor = static_cast<const c10d::NCCLPreMulSumSupplement*>(op_.supplement_.get());
    return factor->tensor_factor.defined() ? tensor * factor->tensor_factor.to(tensor.device())
                                           : tensor * factor->double_factor;
  }
  void before_in_place(const torch::Tensor& tensor) const {
    const torch::NoGradGuard no_grad;
    if (multiplies_) tensor.detach().copy_(before(tensor));
  }

  std::function<void()> after(const torch::Tensor& tensor) const {
    if (!averages_) return {};
    return [tensor, size = size_] {
      const torch::NoGradGuard no_grad;
      tensor.detach().div_(size);
    };
  }

 private:
  ReduceOp op_;
  int size_;
  bool averages_;
  bool multiplies_;
};

/// LibTorch 2.15 has another name for it than 2.11. Which one there is, is looked up for a template
/// alone.
template <typename Factor>
ReduceOp make_premul_sum(Factor factor) {
  using namespace c10d;
  if constexpr (requires { makePreMulSum(factor); })
    return makePreMulSum(factor);
  else
    return makeNCCLPreMulSum(factor);
}

}  // namespace

ReduceOp premul_sum(double factor) { return make_premul_sum(factor); }

Work ProcessGroup::all_reduce_async(const torch::Tensor& tensor, const ReduceOp& op) const {
  Operation call = operation("all_reduce", {tensor});
  const CollectiveChecks check{call, state_->devices};
  check.tensor(tensor, "the tensor");
  const bool nccl = state_->devices.by_nccl(tensor);
  check.reduction(tensor, op, nccl);
  const Reduction reduction{op, size(), nccl};
  reduction.before_in_place(tensor);
  Tensors tensors{tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = reduction.backend_op();
  auto work = call.start([&] { return c10d_group()->allreduce(tensors, options); });
  return {std::move(call), std::move(work), reduction.after(tensor)};
}

Work ProcessGroup::reduce_async(const torch::Tensor& tensor, int root, const ReduceOp& op) const {
  Operation call = operation("reduce", {tensor});
  const CollectiveChecks check{call, state_->devices};
  check.tensor(tensor, "the tensor");
  check.rank(root, "root");
  const bool nccl = state_->devices.by_nccl(tensor);
  check.reduction(tensor, op, nccl);
  const Reduction reduction{op, size(), nccl};
  reduction.before_in_place(tensor);
  Tensors tensors{tensor};
  c10d::ReduceOptions options;
  options.reduceOp = reduction.backend_op();
  options.rootRank = root;
  auto work = call.start([&] { return c10d_group()->reduce(tensors, options); });
  return {std::move(call), std::move(work),
          rank() == root ? reduction.after(tensor) : std::function<void()>{}};
}

Work ProcessGroup::reduce_scatter_async(const torch::Tensor& output, const Tensors& inputs,
                                        const ReduceOp& op) const {
  Operation call = operation("reduce_scatter", {output});
  const CollectiveChecks check{call, state_->devices};
  check.tensor(output, "output");
  check.one_per_rank(inputs, output, "inputs");
  const bool nccl = state_->devices.by_nccl(output);
  check.reduction(output, op, nccl);
  const Reduction reduction{op, size(), nccl};
  Tensors outputs{output};
  std::vector<Tensors> all_inputs(1);
  for (const torch::Tensor& input : inputs) all_inputs[0].push_back(reduction.before(input));
  c10d::ReduceScatterOptions options;
  options.reduceOp = reduction.backend_op();
  auto work =
      call.start([&] { return c10d_group()->reduce_scatter(outputs, all_inputs, options); });
  return {std::move(call), std::move(work), reduction.after(output)};
}

Work ProcessGroup::reduce_scatter_tensor_async(const torch::Tensor& output,
                                               const torch::Tensor& input,
                                               const ReduceOp& op) const {
  Operation call = operation("reduce_scatter_tensor", {output, input});
  const CollectiveChecks check{call, state_->devices};
  check.is_whole_of(input, "input", output, "output");
  const bool nccl = state_->devices.by_nccl(output);
  check.reduction(output, op, nccl);
  const Reduction reduction{op, size(), nccl};
  torch::Tensor to = in_one_row(output);
  torch::Tensor from = in_one_row(reduction.before(input));
  c10d::ReduceScatterOptions options;
  options.reduceOp = reduction.backend_op();
  auto work = call.start([&] { return scatter_from_one(*c10d_group(), to, from, options); });
  return {std::move(call), std::move(work), reduction.after(output)};
}

}  // namespace ddprun::sdk
