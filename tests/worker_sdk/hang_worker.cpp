// A training in which rank 1 sleeps while the others wait for it: for
// tests/system/sdk_hang_test.sh.
#include <iostream>

#include "ddprun/process_group.hpp"
#include "tests/worker_sdk/test_backend.hpp"

void load_batch();  // hang_worker_load.cpp

int main() {
  const auto group = ddprun::sdk::init_process_group({.backend = ddprun::sdk::test_backend()});
  torch::Tensor sum = torch::ones({3}, group.device());
  group.all_reduce(sum);
  std::cout << "rank " << group.rank() << " has begun" << std::endl;
  if (group.rank() == 1) load_batch();
  group.all_reduce(sum);
  std::cout << sum[0].item<float>() << std::endl;  // with NCCL it is here that the others wait
}
