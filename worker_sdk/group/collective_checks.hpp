// What can be wrong with a collective's arguments on this rank alone, found before anything is
// sent. Not for programs.
#pragma once

#include "ddprun/process_group.hpp"

namespace ddprun::sdk {

/// All of them throw std::invalid_argument through Operation::refuse().
class CollectiveChecks {
 public:
  CollectiveChecks(const Operation& operation, torch::Device device)
      : operation_{operation}, device_{device} {}

  /// On the group's device, dense, contiguous. `name` is what the interface calls it.
  void tensor(const torch::Tensor& tensor, const std::string& name) const;
  void rank(int rank, const std::string& name) const;
  /// Another rank of the group.
  void peer(int peer) const;
  /// One tensor per rank, each like `like`.
  void one_per_rank(const Tensors& tensors, const torch::Tensor& like,
                    const std::string& name) const;
  void same_dtype(const torch::Tensor& a, const torch::Tensor& b) const;
  /// `whole` is all ranks' `part`, one after the other.
  void is_whole_of(const torch::Tensor& whole, const std::string& whole_name,
                   const torch::Tensor& part, const std::string& part_name) const;
  /// `splits` cuts the rows of `tensor` into one part per rank; empty: into equal parts.
  void splits(const torch::Tensor& tensor, const std::vector<std::int64_t>& splits,
              const std::string& name) const;
  /// The backend can do `op` with that dtype.
  void reduction(const torch::Tensor& tensor, const ReduceOp& op, bool nccl) const;

 private:
  const Operation& operation_;
  torch::Device device_;
};

/// Gloo takes a whole that is cut in its first dimension only; NCCL does not look at the shape.
inline torch::Tensor in_one_row(const torch::Tensor& tensor) { return tensor.detach().view({-1}); }

}  // namespace ddprun::sdk
