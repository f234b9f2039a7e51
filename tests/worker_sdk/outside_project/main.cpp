// A program of somebody else's, built against the installed SDK.
#include <ddprun/objects.hpp>
#include <ddprun/process_group.hpp>
#include <iostream>
#include <stdexcept>

std::int64_t samples_of_first_rank();

int main() try {
  using namespace ddprun::sdk;
  const ProcessGroup group = init_process_group({.backend = "gloo"});
  const torch::Tensor sum = torch::tensor(group.rank() + 1);
  group.all_reduce(sum);
  const auto ranks = all_gather_object(group, {{"rank", group.rank()}});
  if (samples_of_first_rank() != 5) throw std::runtime_error{"the sampler is not linked"};
  if (group.rank() == 0)
    std::cout << "the sum is " << sum.item<int>() << ", from " << nlohmann::json(ranks)
              << std::endl;
} catch (const std::exception& e) {
  std::cerr << e.what() << std::endl;
  return 1;
}
