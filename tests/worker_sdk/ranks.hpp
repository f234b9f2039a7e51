// The words of tests that ddprun runs on several ranks, which all go through the same test cases in
// the same order.
#pragma once

#include "worker_sdk/process_group.hpp"

namespace ddprun::sdk {

/// All of this run's ranks; made once, for all test cases.
inline const ProcessGroup& group() {
  static const ProcessGroup all = init_process_group({.backend = "gloo"});
  return all;
}

/// This rank's part of a batch that all ranks have made from the same seed.
inline torch::Tensor my_part(const torch::Tensor& batch) {
  return batch.chunk(group().size())[group().rank()];
}

}  // namespace ddprun::sdk
