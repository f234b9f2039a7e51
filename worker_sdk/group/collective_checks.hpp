// CollectiveChecks: finds what is wrong with a collective's arguments on this rank alone, before
// anything is sent.
#pragma once

#include "ddprun/process_group.hpp"
#include "worker_sdk/group/group_place.hpp"

namespace ddprun::sdk {

/// Checks the arguments of one operation. Errors of all functions: std::invalid_argument, as
/// Operation::refuse() words it.
class CollectiveChecks {
 public:
  CollectiveChecks(const Operation& operation, const TensorDevices& devices)
      : operation_{operation}, devices_{devices} {}

  /// `tensor` is on a device of the group's, dense and contiguous, of a dtype that can be sent.
  /// `name` is the argument's name.
  void tensor(const torch::Tensor& tensor, const std::string& name) const;
  /// `rank` is a rank of the group.
  void rank(int rank, const std::string& name) const;
  /// `peer` is a rank of the group, and not this one.
  void peer(int peer) const;
  /// There is one tensor for each rank, with the dtype and shape of `like`.
  void one_per_rank(const Tensors& tensors, const torch::Tensor& like,
                    const std::string& name) const;
  /// Both have the same dtype, and are on the same device.
  void same_dtype(const torch::Tensor& a, const torch::Tensor& b) const;
  /// `whole` has the shape of all ranks' `part`, one after the other.
  void is_whole_of(const torch::Tensor& whole, const std::string& whole_name,
                   const torch::Tensor& part, const std::string& part_name) const;
  /// `splits` cuts the rows of `tensor` into one part for each rank. If it is empty, equal parts
  /// must be possible.
  void splits(const torch::Tensor& tensor, const std::vector<std::int64_t>& splits,
              const std::string& name) const;
  /// The backend can do `op` with the tensor's dtype. `nccl`: it is NCCL that does it.
  void reduction(const torch::Tensor& tensor, const ReduceOp& op, bool nccl) const;

 private:
  const Operation& operation_;
  TensorDevices devices_;
};

/// Returns `tensor` as one row. Gloo takes a whole only in the shape that is cut in its first
/// dimension; NCCL does not look at the shape, so a row suits both.
inline torch::Tensor in_one_row(const torch::Tensor& tensor) { return tensor.detach().view({-1}); }

}  // namespace ddprun::sdk
