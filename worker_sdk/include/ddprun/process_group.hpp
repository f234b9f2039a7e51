// ProcessGroup: the workers of a job, and what they do together.
//
// It does what torch.distributed's groups do
// (https://docs.pytorch.org/docs/stable/distributed.html), and can be in one with them: some
// workers of a job may be Python programs. Every operation of that page is here under its name.
// Where Python has async_op=True, there is a second function whose name ends in _async: it returns
// at once with a Work.
//
// Common to all operations:
// - All ranks of the group call them in the same order, with the same shapes and dtypes.
// - Tensors are contiguous, and all on the same device: device() or, with the backend
//   "cpu:gloo,cuda:nccl", the CPU. Results are written into the tensors that are given.
// - Ranks (`root`, `peer`) are those of the group: in a sub-group from 0 to size() - 1.
// - Errors: std::invalid_argument, before anything is sent, for what is wrong on this rank (device,
//   strides, shape, dtype, rank); CommunicationError when a peer is gone, or has not come within
//   the group's timeout. Both name operation, group, rank, and the tensor's dtype and shape.
//   With NCCL, a wait() that returns has only made the current stream wait. When a peer is gone, or
//   the timeout is over, the watchdog of LibTorch ends this process instead.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <ddprun/work.hpp>
#include <ddprun/worker_env.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

namespace ddprun::sdk {

/// SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, and what premul_sum() makes
/// (https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.ReduceOp).
using ReduceOp = c10d::ReduceOp;

/// Returns the reduction that multiplies every rank's tensor by `factor`, which may differ from
/// rank to rank, and then sums.
ReduceOp premul_sum(double factor);

using Tensors = std::vector<torch::Tensor>;

/// How init_process_group() makes a group.
struct ProcessGroupOptions {
  /// "nccl"; "gloo"; "cpu:gloo,cuda:nccl", where Gloo carries tensors on the CPU and NCCL those on
  /// the GPU; or "", which means the latter when this process sees a GPU and Gloo otherwise. It is
  /// the same on all ranks.
  std::string backend = {};
  /// This worker's device: a GPU for NCCL, the CPU for Gloo. Not set: the GPU of the number
  /// LOCAL_RANK or, where CUDA_VISIBLE_DEVICES names a single one, as under Slurm's
  /// --gpus-per-task, that one.
  std::optional<torch::Device> device = {};
  /// How long an operation may take, and how long the workers have to join. Not set: 10 minutes
  /// with NCCL and 30 with Gloo, as in PyTorch.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Where the workers meet
  /// (https://docs.pytorch.org/docs/stable/distributed.html#initialization). "env://", or "": where
  /// MASTER_ADDR and MASTER_PORT say. "tcp://HOST:PORT": there, where rank 0 listens.
  /// "file:///PATH": in a file that all of them see, and that is not there before.
  std::string init_method = {};
  /// This worker's rank, and how many workers there are. What is not set here is taken from the end
  /// of `init_method` ("?rank=0&world_size=2"), or else from the environment.
  std::optional<int> rank = {};
  std::optional<int> world_size = {};
};

/// How ProcessGroup::new_group() makes a group.
struct SubgroupOptions {
  std::string name = {};                                  // for messages; "": a number
  std::optional<std::chrono::milliseconds> timeout = {};  // not set: the parent's
};

/// One message of batch_isend_irecv(), with the meanings of isend() and irecv().
struct P2POp {
  enum class Kind { kSend, kRecv };
  Kind kind;
  torch::Tensor tensor;
  int peer;     // the rank that it goes to, or comes from
  int tag = 0;  // equal on both sides
};

/// As `peer` of recv(): the rank that sends first. Only Gloo can do it.
inline constexpr int kAnySource = -1;

/// A handle of a group; copies are handles of the same one. This worker leaves the group when the
/// last of them is gone, and waits for no other rank then, except for operations that are still in
/// progress.
class ProcessGroup {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// This worker's number in the group, from 0 to size() - 1.
  int rank() const;
  /// How many workers the group has.
  int size() const;
  /// The group's name: "default", or that of the sub-group.
  const std::string& name() const;
  /// The ranks of the group as numbers in the whole job: global_ranks()[rank()] is env().rank.
  const std::vector<int>& global_ranks() const;
  /// This worker's place in the whole job.
  const WorkerEnv& env() const;

  /// The device that this worker's tensors are on: a GPU with NCCL, cpu with Gloo.
  torch::Device device() const;
  /// Returns the name of the library that does the work: "nccl" or "gloo".
  std::string backend() const;
  /// How long an operation may take.
  Milliseconds timeout() const;

  /// Makes a group of some ranks of this one, in the order of their numbers. All ranks of this
  /// group call it; those that are not in the new one get nullopt. Errors: std::invalid_argument
  /// for a rank that is not in this group, or is given twice; CommunicationError, naming who is
  /// missing.
  std::optional<ProcessGroup> new_group(const std::vector<int>& ranks,
                                        const SubgroupOptions& options = {}) const;

  /// Reduces `tensor` over all ranks, element by element and in place. AVG needs floating point.
  void all_reduce(const torch::Tensor& tensor, const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    all_reduce_async(tensor, op).wait();
  }
  Work all_reduce_async(const torch::Tensor& tensor,
                        const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// Makes `tensor` on every rank equal to that of rank `root`.
  void broadcast(const torch::Tensor& tensor, int root = 0) const {
    broadcast_async(tensor, root).wait();
  }
  Work broadcast_async(const torch::Tensor& tensor, int root = 0) const;

  /// Reduces as all_reduce() does, but only rank `root` gets the result. The others' tensors may be
  /// changed.
  void reduce(const torch::Tensor& tensor, int root,
              const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_async(tensor, root, op).wait();
  }
  Work reduce_async(const torch::Tensor& tensor, int root,
                    const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// Makes outputs[i] equal to rank i's `input`, on every rank. There are size() outputs, of the
  /// input's shape and dtype.
  void all_gather(const Tensors& outputs, const torch::Tensor& input) const {
    all_gather_async(outputs, input).wait();
  }
  Work all_gather_async(const Tensors& outputs, const torch::Tensor& input) const;
  /// Does the same and returns the outputs, which are new tensors.
  Tensors all_gather(const torch::Tensor& input) const;

  /// Puts all ranks' `input`, [n, ...], one after the other into `output`, which is
  /// [size() * n, ...] or [size(), n, ...].
  void all_gather_into_tensor(const torch::Tensor& output, const torch::Tensor& input) const {
    all_gather_into_tensor_async(output, input).wait();
  }
  Work all_gather_into_tensor_async(const torch::Tensor& output, const torch::Tensor& input) const;

  /// Makes outputs[i] on rank `root` equal to rank i's `input`. There are size() outputs, of the
  /// input's shape and dtype; on the other ranks `outputs` is empty.
  void gather(const Tensors& outputs, const torch::Tensor& input, int root = 0) const {
    gather_async(outputs, input, root).wait();
  }
  Work gather_async(const Tensors& outputs, const torch::Tensor& input, int root = 0) const;
  /// Does the same and returns the outputs, which are new tensors; none on ranks other than `root`.
  Tensors gather(const torch::Tensor& input, int root = 0) const;

  /// Makes `output` equal to inputs[rank()] of rank `root`. There are size() inputs, of the
  /// output's shape and dtype; on the other ranks `inputs` is empty.
  void scatter(const torch::Tensor& output, const Tensors& inputs, int root = 0) const {
    scatter_async(output, inputs, root).wait();
  }
  Work scatter_async(const torch::Tensor& output, const Tensors& inputs, int root = 0) const;

  /// Reduces all ranks' inputs[rank()] into `output`. There are size() inputs, of the output's
  /// shape and dtype.
  void reduce_scatter(const torch::Tensor& output, const Tensors& inputs,
                      const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_scatter_async(output, inputs, op).wait();
  }
  Work reduce_scatter_async(const torch::Tensor& output, const Tensors& inputs,
                            const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// Reduces all ranks' `input`, which is [size() * n, ...] or [size(), n, ...], and gives each
  /// rank its part of the result as `output`, [n, ...].
  void reduce_scatter_tensor(const torch::Tensor& output, const torch::Tensor& input,
                             const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const {
    reduce_scatter_tensor_async(output, input, op).wait();
  }
  Work reduce_scatter_tensor_async(const torch::Tensor& output, const torch::Tensor& input,
                                   const ReduceOp& op = ReduceOp{ReduceOp::SUM}) const;

  /// Makes outputs[i] equal to rank i's inputs[rank()]. There are size() of each, whose shapes may
  /// differ from pair to pair.
  void all_to_all(const Tensors& outputs, const Tensors& inputs) const {
    all_to_all_async(outputs, inputs).wait();
  }
  Work all_to_all_async(const Tensors& outputs, const Tensors& inputs) const;

  /// Sends the i-th part of the rows of `input` to rank i, and gets the i-th part of the rows of
  /// `output` from it. Splits are size() numbers of rows that add up to the whole; without them the
  /// parts are equal.
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

  /// Returns when all ranks have called it, and otherwise says on every rank who has not come
  /// within `timeout` (0 means the group's), whatever the backend. It goes through the store, so it
  /// is slower than barrier(). Errors: CommunicationError with the missing ranks.
  void monitored_barrier(Milliseconds timeout = Milliseconds{0}) const;

  /// Sends `tensor` to rank `peer`, which receives one of the same shape and dtype with the same
  /// `tag`. Messages of one pair of ranks arrive in order; NCCL has no tags.
  void send(const torch::Tensor& tensor, int peer, int tag = 0) const {
    isend(tensor, peer, tag).wait();
  }
  Work isend(const torch::Tensor& tensor, int peer, int tag = 0) const;

  /// Receives into `tensor` from rank `peer` or, with Gloo, from kAnySource. Returns who has sent
  /// it.
  int recv(const torch::Tensor& tensor, int peer = kAnySource, int tag = 0) const;
  Work irecv(const torch::Tensor& tensor, int peer = kAnySource, int tag = 0) const;

  /// Begins several messages at once, which cannot block one another. Returns one Work for each;
  /// with NCCL one for all.
  std::vector<Work> batch_isend_irecv(const std::vector<P2POp>& operations) const;

  /// Describes an operation that is made of these ones, for its messages.
  Operation operation(std::string name, Tensors tensors = {}) const;

  /// LibTorch's own group, for what this class does not cover.
  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const;
  /// A part of the workers' key-value store for the program's own keys, which this group shares.
  c10::intrusive_ptr<c10d::Store> store() const;

 private:
  struct State;
  friend ProcessGroup make_group(
      const ProcessGroupOptions& options, const WorkerEnv& env,
      const std::function<c10::intrusive_ptr<c10d::Store>(Milliseconds timeout)>& open);
  explicit ProcessGroup(std::shared_ptr<const State> state) : state_{std::move(state)} {}

  std::shared_ptr<const State> state_;
};

/// Meets the other workers and returns when all of them are there. All ranks may call it again,
/// also when the group before is gone. From then on SIGPIPE is ignored, as in Python, unless the
/// program has a handler for it: it would end a worker whose peer has died. Errors:
/// EnvironmentError for what the environment lacks; std::invalid_argument for a backend, device or
/// `init_method` that is not known, NCCL without a GPU for this worker, and where the ranks'
/// backends differ, naming the odd ones; CommunicationError when not all came within the timeout,
/// naming the missing ranks; std::runtime_error when the place where they meet cannot be reached.
ProcessGroup init_process_group(const ProcessGroupOptions& options = {});

/// Does the same for a worker whose place is known already. Errors: also std::invalid_argument when
/// `options` say that place again.
ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env);

}  // namespace ddprun::sdk
