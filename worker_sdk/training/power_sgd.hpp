// PowerSGD: gradients sent as products of two thin matrices (https://arxiv.org/abs/1905.13727).
#pragma once

#include <cstddef>
#include <map>
#include <random>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <vector>

#include "ddprun/distributed_data_parallel.hpp"

namespace ddprun::sdk {

/// It is powerSGD_hook of torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py, with the
/// same random numbers, and operators in the same order. Python's chains futures; this one waits
/// for each sum before it goes on, so that all ranks begin their sums in the same order, whatever
/// the backend. With NCCL only the stream waits.
class PowerSgdHook : public c10d::CppCommHookInterface<ProcessGroup> {
 public:
  /// Errors: std::invalid_argument for options that make no sense.
  PowerSgdHook(const ProcessGroup& group, const PowerSgdOptions& options);

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;

 private:
  /// What is kept of a bucket from step to step.
  struct Memory {
    torch::Tensor error, ps, qs;  // each flat
  };
  /// A gradient and its factors, [1, n, m], [1, n, rank] and [1, m, rank].
  struct Compressed {
    torch::Tensor matrix, p, q;
  };

  bool should_compress(const torch::Tensor& gradient) const;
  std::int64_t rank_of(const torch::Tensor& gradient) const;
  std::vector<Compressed> make_factors(const std::vector<torch::Tensor>& gradients, Memory& memory);
  void begin_qs(std::vector<Compressed>& parts, bool is_fresh);
  void approximate(std::vector<Compressed>& parts, const Memory& memory);
  void reduce_plainly(const std::vector<torch::Tensor>& gradients) const;
  void orthogonalize(torch::Tensor& matrix) const;
  void compress(c10d::GradBucket& bucket);

  PowerSgdOptions options_;
  std::mt19937 seeds_;  // numpy.random.RandomState is the same generator
  std::int64_t steps_ = 0;
  std::map<std::size_t, Memory> memories_;  // by number of the bucket
};

}  // namespace ddprun::sdk
