// Communication hooks on several ranks. python_ddp_test.py compares whole trainings with Python's.

#include "ddprun/distributed_data_parallel.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

/// Its gradient is its input.
struct Product : torch::nn::Module {
  Product() { weight = register_parameter("weight", torch::zeros({3})); }
  torch::Tensor forward(const torch::Tensor& x) { return (weight * x).sum(); }
  torch::Tensor weight;
};

double mean_over_ranks(double of_rank_0) { return of_rank_0 + (group().size() - 1) / 2.0; }

TEST_CASE("with a hook, gradients are the mean in half precision, and the same on all ranks") {
  for (const auto& [hook, tolerance] :
       std::vector<std::pair<CommHook, double>>{{CommHook::kAllReduce, 1e-6},
                                                {CommHook::kFp16Compress, 2e-3},
                                                {CommHook::kBf16Compress, 2e-2}}) {
    const auto module = std::make_shared<Product>();
    DistributedDataParallel<Product> ddp{module, group(), {.comm_hook = hook}};
    ddp.forward(torch::full({3}, 1.0003 + group().rank())).backward();
    const torch::Tensor gradient = module->weight.grad();
    CHECK(gradient.scalar_type() == torch::kFloat32);
    const torch::Tensor expected = torch::full({3}, mean_over_ranks(1.0003));
    CHECK(torch::allclose(gradient, expected, tolerance));
    const bool is_exact = torch::allclose(gradient, expected, 1e-6);
    CHECK(is_exact == (hook == CommHook::kAllReduce));
    torch::Tensor of_rank_0 = gradient.clone();
    group().broadcast(of_rank_0);
    CHECK(torch::equal(gradient, of_rank_0));
  }
}

TEST_CASE("ranks that have run out join in what a hook reduces") {
  const auto module = std::make_shared<Product>();
  DistributedDataParallel<Product> ddp{module, group(), {.comm_hook = CommHook::kFp16Compress}};
  torch::optim::SGD optimizer{module->parameters(), 1};
  ddp.join([&] {
    for (int step = 0; step <= group().rank(); ++step) {
      optimizer.zero_grad();
      ddp.forward(torch::ones({3})).backward();
      optimizer.step();
    }
  });
  // Step n has n ranks less, and the gradient is their share of all.
  const double steps = (group().size() + 1) / 2.0;
  CHECK(torch::allclose(module->weight, torch::full({3}, -steps), 1e-2));
}

TEST_CASE("a hook takes no sparse gradients") {
  const auto embedding =
      std::make_shared<torch::nn::EmbeddingImpl>(torch::nn::EmbeddingOptions(5, 3).sparse(true));
  CHECK_THROWS_WITH((DistributedDataParallel<torch::nn::EmbeddingImpl>{
                        embedding, group(), {.comm_hook = CommHook::kBf16Compress}}),
                    contains("comm_hook takes no sparse"));
}

}  // namespace
}  // namespace ddprun::sdk
