// The words of tests that ddprun runs on several ranks, which all go through the same test cases in
// the same order.
#pragma once

#include "tests/worker_sdk/group_fixture.hpp"

namespace ddprun::sdk {

/// This rank's part of a batch that all ranks have made from the same seed.
inline torch::Tensor my_part(const torch::Tensor& batch) {
  return batch.chunk(group().size())[group().rank()];
}

}  // namespace ddprun::sdk
