// A training in which rank 1 sleeps while the others wait for it: for
// tests/system/sdk_hang_test.sh.
#include <iostream>

#include "ddprun/process_group.hpp"

void load_batch();  // hang_worker_load.cpp

int main() {
  const auto group = ddprun::sdk::init_process_group({.backend = "gloo"});
  torch::Tensor sum = torch::ones({3});
  group.all_reduce(sum);
  std::cout << "rank " << group.rank() << " has begun" << std::endl;
  if (group.rank() == 1) load_batch();
  group.all_reduce(sum);
}
