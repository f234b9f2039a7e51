// ProcessGroup: the workers of a job, and what they do together.
//
// The same as torch.distributed's groups (https://docs.pytorch.org/docs/stable/distributed.html),
// and able to work with them: some workers of a job may be Python programs. Every operation of that
// page is here under its name; where Python has async_op=True, there is a second one whose name
// ends in _async and which returns a Work.
//
// Common to all operations:
// - All ranks of the group call them in the same order, with the same shapes and dtypes.
// - Tensors are contiguous and on device(). Results are written into the tensors that are given.
// - Ranks (`root`, `peer`) are those of the group: in a sub-group from 0 to size() - 1.
// - Errors: std::invalid_argument, before anything is sent, for what is wrong on this rank (device,
//   strides, shape, dtype, rank); CommunicationError when a peer is gone, or has not come within
//   the group's timeout. Both name operation, group, rank, and the tensor's dtype and shape.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <ddprun/work.hpp>
#include <ddprun/worker_env.hpp>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace ddprun::sdk {

struct InitMethod;

/// SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, and what premul_sum() makes
/// (https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp).
using ReduceOp = c10d::ReduceOp;

/// Multiplies every rank's tensor by `factor`, which may differ between ranks, and then sums.
ReduceOp premul_sum(double factor);

using Tensors = std::vector<torch::Tensor>;

struct ProcessGroupOptions {
  /// "nccl", "gloo", or "": NCCL when this process sees a GPU, Gloo else.
  std::string backend = {};
  /// For every operation, and for all workers to join.
  std::chrono::milliseconds timeout{std::chrono::minutes{30}};
  /// Where the workers meet
  /// (https://docs.pytorch.org/docs/stable/distributed.html#initialization):
  /// "env://", or "": MASTER_ADDR and MASTER_PORT say it;
  /// "tcp://HOST:PORT": rank 0 listens there;
  /// "file:///PATH": a file that all see, and that is not there before.
  std::string init_method = {};
  /// This worker and how many there are. Else they are taken from the end of `init_method`
  /// ("?rank=0&world_size=2"), else from the environment.
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
};

struct SubgroupOptions {
  std::string name = {};                                  // for messages; else it is a number
  std::optional<std::chrono::milliseconds> timeout = {};  // else that of the group it comes from
};

/// One message of batch_isend_irecv().
struct P2POp {
  enum class Kind { kSend, kRecv };
  Kind kind;
  torch::Tensor tensor;
  int peer;
  int tag = 0;
};

/// A recv() from whoever sends first. Gloo only.
inline constexpr int kAnySource = -1;

/// Copies are handles of the same group, which is left when the last of them is gone. That waits
/// for no other rank, except for operations that are still under way.
class ProcessGroup {
 public:
  using Milliseconds = std::chrono::milliseconds;

  int rank() const;
  int size() const;
  /// "default", or the name of the sub-group.
  const std::string& name() const;
  /// The ranks of the group as numbers in the whole job: global_ranks()[rank()] is env().rank.
  const std::vector<int>& global_ranks() const;
  /// This worker's place in the whole job.
  const WorkerEnv& env() const;

  /// Where this worker's tensors belong: cuda:LOCAL_RANK with NCCL, cpu with Gloo.
  torch::Device device() const;
  /// "nccl" or "gloo".
  std::string backend() const;
  Milliseconds timeout() const;

  /// A group of some ranks of this one, in the order of their numbers; nullopt on the others. All
  /// ranks of this group call it. Errors: std::invalid_argument for a rank that is not in this
  /// group, or is given twice; std::runtime_error, naming who is missing.
  std::optional<ProcessGroup> new_group(const std::vector<int>& ranks,
                                        const SubgroupOptions& options = {}) const;

  /// In place, element by element over all ranks. AVG needs floating point.
  void all_reduce(const torch::Tensor& tensor, const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    all_reduce_async(tensor, op).wait();
  }
  Work all_reduce_async(const torch::Tensor& tensor,
                        const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// Everybody's `tensor` becomes that of rank `root`.
  void broadcast(const torch::Tensor& tensor, int root = 0) const {
    broadcast_async(tensor, root).wait();
  }
  Work broadcast_async(const torch::Tensor& tensor, int root = 0) const;

  /// Like all_reduce(), but only rank `root` gets the result; the others' tensors may be changed.
  void reduce(const torch::Tensor& tensor, int root,
              const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_async(tensor, root, op).wait();
  }
  Work reduce_async(const torch::Tensor& tensor, int root,
                    const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// outputs[i] becomes rank i's `input`: size() tensors of its shape and dtype.
  void all_gather(const Tensors& outputs, const torch::Tensor& input) const {
    all_gather_async(outputs, input).wait();
  }
  Work all_gather_async(const Tensors& outputs, const torch::Tensor& input) const;
  /// The same, into new tensors.
  Tensors all_gather(const torch::Tensor& input) const;

  /// All ranks' `input`, [n, ...], one after the other: `output` is [size() * n, ...], or
  /// [size(), n, ...].
  void all_gather_into_tensor(const torch::Tensor& output, const torch::Tensor& input) const {
    all_gather_into_tensor_async(output, input).wait();
  }
  Work all_gather_into_tensor_async(const torch::Tensor& output, const torch::Tensor& input) const;

  /// On rank `root`, outputs[i] becomes rank i's `input`: size() tensors of its shape and dtype. On
  /// the others `outputs` is empty.
  void gather(const Tensors& outputs, const torch::Tensor& input, int root = 0) const {
    gather_async(outputs, input, root).wait();
  }
  Work gather_async(const Tensors& outputs, const torch::Tensor& input, int root = 0) const;
  /// The same, into new tensors; empty on all ranks but `root`.
  Tensors gather(const torch::Tensor& input, int root = 0) const;

  /// `output` becomes inputs[rank()] of rank `root`: size() tensors of the same shape and dtype. On
  /// the others `inputs` is empty.
  void scatter(const torch::Tensor& output, const Tensors& inputs, int root = 0) const {
    scatter_async(output, inputs, root).wait();
  }
  Work scatter_async(const torch::Tensor& output, const Tensors& inputs, int root = 0) const;

  /// `output` becomes the reduction of all ranks' inputs[rank()]: size() tensors of its shape and
  /// dtype.
  void reduce_scatter(const torch::Tensor& output, const Tensors& inputs,
                      const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_scatter_async(output, inputs, op).wait();
  }
  Work reduce_scatter_async(const torch::Tensor& output, const Tensors& inputs,
                            const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// The reduction of all ranks' `input`, of which each gets its part: `output` is [n, ...],
  /// `input` [size() * n, ...], or [size(), n, ...].
  void reduce_scatter_tensor(const torch::Tensor& output, const torch::Tensor& input,
                             const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_scatter_tensor_async(output, input, op).wait();
  }
  Work reduce_scatter_tensor_async(const torch::Tensor& output, const torch::Tensor& input,
                                   const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// outputs[i] becomes rank i's inputs[rank()]: size() tensors each, whose shapes may differ from
  /// pair to pair.
  void all_to_all(const Tensors& outputs, const Tensors& inputs) const {
    all_to_all_async(outputs, inputs).wait();
  }
  Work all_to_all_async(const Tensors& outputs, const Tensors& inputs) const;

  /// Rank i gets the i-th part of the rows of `input`, and its rows are the i-th part of `output`.
  /// Parts are equal without `splits`, else of so many rows: size() numbers that make up the whole.
  void all_to_all_single(const torch::Tensor& output, const torch::Tensor& input,
                         const std::vector<std::int64_t>& output_splits = {},
                         const std::vector<std::int64_t>& input_splits = {}) const {
    all_to_all_single_async(output, input, output_splits, input_splits).wait();
  }
  Work all_to_all_single_async(const torch::Tensor& output, const torch::Tensor& input,
                               const std::vector<std::int64_t>& output_splits = {},
                               const std::vector<std::int64_t>& input_splits = {}) const;

  /// Returns when all ranks have called it.
  void barrier() const { barrier_async().wait(); }
  Work barrier_async() const;

  /// A barrier that says on every rank who has not come within `timeout` (0: the group's), whatever
  /// the backend. It goes through the store, so it is slower than barrier(). Errors:
  /// CommunicationError with the missing ranks.
  void monitored_barrier(Milliseconds timeout = Milliseconds{0}) const;

  /// To rank `peer`, which receives a tensor of the same shape and dtype with the same `tag`. Gloo
  /// and NCCL match messages of one pair of ranks in order; NCCL has no tags.
  void send(const torch::Tensor& tensor, int peer, int tag = 0) const {
    isend(tensor, peer, tag).wait();
  }
  Work isend(const torch::Tensor& tensor, int peer, int tag = 0) const;

  /// From rank `peer` or, with Gloo, from kAnySource. Returns who has sent it.
  int recv(const torch::Tensor& tensor, int peer = kAnySource, int tag = 0) const;
  Work irecv(const torch::Tensor& tensor, int peer = kAnySource, int tag = 0) const;

  /// Several messages at once, which cannot block one another. With NCCL it is one Work for all.
  std::vector<Work> batch_isend_irecv(const std::vector<P2POp>& operations) const;

  /// For messages of other operations that are made of these.
  Operation operation(std::string name, Tensors tensors = {}) const;

  /// For what this class does not cover.
  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const;
  /// A corner of the workers' key-value store for this group of the program's own keys.
  c10::intrusive_ptr<c10d::Store> store() const;

 private:
  struct State;
  friend ProcessGroup init_process_group(const ProcessGroupOptions& options,
                                         const InitMethod& method, const WorkerEnv& env);
  explicit ProcessGroup(std::shared_ptr<const State> state) : state_{std::move(state)} {}

  std::shared_ptr<const State> state_;
};

/// Meets the other workers and returns when all are there. It can be called again, on all ranks,
/// when the group is gone. Errors: EnvironmentError for what the environment lacks;
/// std::invalid_argument for a backend or `init_method` that is not known, or NCCL without a GPU
/// for this worker; std::runtime_error when not all came within the timeout, naming the missing
/// ranks.
ProcessGroup init_process_group(const ProcessGroupOptions& options = {});

/// The same for a worker whose place is known already; so `options` do not say it again.
ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env);

}  // namespace ddprun::sdk
