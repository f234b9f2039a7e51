// What tests of several ranks have in common.
#pragma once

#include "ddprun/process_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/test_backend.hpp"

namespace ddprun::sdk {

/// All ranks of the job; of the one that ddprun has started.
inline const ProcessGroup& group() {
  static const ProcessGroup all = init_process_group({.backend = test_backend()});
  return all;
}

/// Makes a tensor where the group's tensors are.
inline torch::TensorOptions here(torch::ScalarType type = torch::kFloat32) {
  return torch::TensorOptions{group().device()}.dtype(type);
}

/// Whether a case is about what NCCL does not have, which it then says.
inline bool nccl_lacks(const std::string& what) {
  if (!group().device().is_cuda()) return false;
  SUCCEED("NCCL has no " << what);
  return true;
}

/// Whether a case cannot run with so few ranks, which it then says: a case that asserts nothing
/// fails.
inline bool too_few_ranks(int needed) {
  if (group().size() >= needed) return false;
  SUCCEED("needs " << needed << " ranks");
  return true;
}

}  // namespace ddprun::sdk
