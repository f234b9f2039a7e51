// ProcessGroup: the workers of a job, and what they do together.
//
// The same as torch.distributed's default group
// (https://docs.pytorch.org/docs/stable/distributed.html), made from the environment that ddprun or
// torchrun has set.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "worker_sdk/worker_env.hpp"

namespace ddprun::sdk {

struct ProcessGroupOptions {
  /// "nccl", "gloo", or "": NCCL when this process sees a GPU, Gloo else.
  std::string backend;
  /// For every operation, and for all workers to join.
  std::chrono::milliseconds timeout{std::chrono::minutes{30}};
};

class ProcessGroup {
 public:
  int rank() const { return env_.rank; }
  int size() const { return env_.world_size; }
  const WorkerEnv& env() const { return env_; }

  /// Where this worker's tensors belong: cuda:LOCAL_RANK with NCCL, cpu with Gloo.
  torch::Device device() const { return device_; }

  /// In place, element by element over all ranks. `tensor`: contiguous, on device(), of the same
  /// shape and dtype everywhere. Errors: c10::Error, std::runtime_error when a peer is gone.
  void all_reduce(torch::Tensor& tensor,
                  const c10d::ReduceOp& op = c10d::ReduceOp{c10d::ReduceOp::SUM}) const;

  /// Everybody's `tensor` becomes that of rank `root`.
  void broadcast(torch::Tensor& tensor, int root = 0) const;

  /// Returns when all ranks have called it.
  void barrier() const;

  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const { return group_; }

 private:
  friend ProcessGroup init_process_group(const ProcessGroupOptions& options, const WorkerEnv& env);
  ProcessGroup(WorkerEnv env, torch::Device device, c10::intrusive_ptr<c10d::ProcessGroup> group);

  WorkerEnv env_;
  torch::Device device_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

/// Meets the other workers at MASTER_ADDR:MASTER_PORT and returns when all are there. Errors:
/// std::invalid_argument for an unknown backend, or NCCL without a GPU for this worker;
/// c10::DistStoreError when not all came within the timeout.
ProcessGroup init_process_group(const ProcessGroupOptions& options = {},
                                const WorkerEnv& env = WorkerEnv::from_environment());

}  // namespace ddprun::sdk
