#include "worker_sdk/group/collective_checks.hpp"

#include <algorithm>
#include <numeric>

namespace ddprun::sdk {

namespace {

std::string dtype_name(const torch::Tensor& tensor) {
  return std::string{c10::getDtypeNames(tensor.scalar_type()).first};
}

std::string shape_text(torch::IntArrayRef sizes) { return c10::str(sizes); }

bool is_bitwise(const ReduceOp& op) {
  return op.op_ == ReduceOp::BAND || op.op_ == ReduceOp::BOR || op.op_ == ReduceOp::BXOR;
}

}  // namespace

void CollectiveChecks::tensor(const torch::Tensor& tensor, const std::string& name) const {
  if (!tensor.defined()) operation_.refuse(name + " is an undefined tensor");
  if (tensor.layout() != torch::kStrided)
    operation_.refuse(name + " is sparse; call to_dense() on it first");
  if (tensor.device() != devices_.device && !(devices_.cpu_too && tensor.is_cpu()))
    operation_.refuse(name + " is on " + tensor.device().str() + ", this group's tensors are on " +
                      devices_.device.str() + (devices_.cpu_too ? " or the CPU" : "") +
                      "; call .to(group.device()) on it first");
  // NCCL's backend finds out when it has begun a message, which then never ends.
  if (devices_.by_nccl(tensor) && !nccl_has(tensor.scalar_type()))
    operation_.refuse(name + " is of " + dtype_name(tensor) + ", which NCCL does not have");
  if (!tensor.is_contiguous())
    operation_.refuse(name + " has the strides " + c10::str(tensor.strides()) +
                      ", which is not contiguous; call .contiguous() on it first");
}

void CollectiveChecks::rank(int rank, const std::string& name) const {
  if (rank < 0 || rank >= operation_.size)
    operation_.refuse(name + " is " + std::to_string(rank) +
                      ", expected a rank of the group, 0 to " +
                      std::to_string(operation_.size - 1));
}

void CollectiveChecks::peer(int peer) const {
  rank(peer, "peer");
  if (peer == operation_.rank) operation_.refuse("peer is this rank itself");
}

void CollectiveChecks::one_per_rank(const Tensors& tensors, const torch::Tensor& like,
                                    const std::string& name) const {
  if (static_cast<int>(tensors.size()) != operation_.size)
    operation_.refuse(name + " has " + std::to_string(tensors.size()) +
                      " tensors, expected one for each of the " + std::to_string(operation_.size) +
                      " ranks");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string which = name + "[" + std::to_string(i) + "]";
    tensor(tensors[i], which);
    same_dtype(tensors[i], like);
    if (tensors[i].sizes() != like.sizes())
      operation_.refuse(which + " has the shape " + c10::str(tensors[i].sizes()) + ", expected " +
                        c10::str(like.sizes()));
  }
}

void CollectiveChecks::same_dtype(const torch::Tensor& a, const torch::Tensor& b) const {
  if (a.scalar_type() != b.scalar_type())
    operation_.refuse("its tensors are of different dtypes, " + dtype_name(a) + " and " +
                      dtype_name(b));
  if (a.device() != b.device())
    operation_.refuse("its tensors are on different devices, " + a.device().str() + " and " +
                      b.device().str());
}

void CollectiveChecks::is_whole_of(const torch::Tensor& whole, const std::string& whole_name,
                                   const torch::Tensor& part, const std::string& part_name) const {
  tensor(whole, whole_name);
  tensor(part, part_name);
  same_dtype(whole, part);
  std::vector<std::int64_t> stacked = part.sizes().vec();
  stacked.insert(stacked.begin(), operation_.size);
  std::vector<std::int64_t> in_a_row = part.sizes().vec();
  if (in_a_row.empty()) in_a_row.push_back(1);
  in_a_row.front() *= operation_.size;
  if (whole.sizes() != stacked && whole.sizes() != in_a_row)
    operation_.refuse(whole_name + " has the shape " + c10::str(whole.sizes()) + ", expected " +
                      shape_text(in_a_row) + " or " + shape_text(stacked) + " for " + part_name +
                      " of the shape " + c10::str(part.sizes()));
}

void CollectiveChecks::splits(const torch::Tensor& tensor, const std::vector<std::int64_t>& splits,
                              const std::string& name) const {
  if (tensor.dim() == 0) operation_.refuse(name + " is a scalar: there are no rows to split");
  const std::int64_t rows = tensor.size(0);
  if (splits.empty()) {
    if (rows % operation_.size != 0)
      operation_.refuse(name + " has " + std::to_string(rows) +
                        " rows, which cannot be split equally among " +
                        std::to_string(operation_.size) + " ranks; give the splits");
    return;
  }
  const bool negative = *std::ranges::min_element(splits) < 0;
  if (static_cast<int>(splits.size()) != operation_.size || negative ||
      std::accumulate(splits.begin(), splits.end(), std::int64_t{0}) != rows)
    operation_.refuse("the splits of " + name + " are " + shape_text(splits) + ", expected " +
                      std::to_string(operation_.size) + " numbers that make " +
                      std::to_string(rows) + " rows together");
}

void CollectiveChecks::reduction(const torch::Tensor& tensor, const ReduceOp& op, bool nccl) const {
  if (is_bitwise(op) && nccl) operation_.refuse("NCCL has no bitwise reductions; use gloo");
  if (is_bitwise(op) && !c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true))
    operation_.refuse("bitwise reductions need whole numbers, not " + dtype_name(tensor));
  if ((op.op_ == ReduceOp::AVG || op.op_ == ReduceOp::PREMUL_SUM) && !tensor.is_floating_point())
    operation_.refuse("AVG and premul_sum() need floating-point numbers, not " +
                      dtype_name(tensor) + "; sum, and divide as you like");
}

}  // namespace ddprun::sdk
