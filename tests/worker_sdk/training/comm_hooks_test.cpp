// Communication hooks on several ranks. python_ddp_test.py compares whole trainings with Python's.

#include "ddprun/distributed_data_parallel.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

/// Its gradient is its input.
struct Product : torch::nn::Module {
  Product() { weight = register_parameter("weight", torch::zeros({3}, here())); }
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
    ddp.forward(torch::full({3}, 1.0003 + group().rank(), here())).backward();
    const torch::Tensor gradient = module->weight.grad();
    CHECK(gradient.scalar_type() == torch::kFloat32);
    const torch::Tensor expected = torch::full({3}, mean_over_ranks(1.0003), here());
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
      ddp.forward(torch::ones({3}, here())).backward();
      optimizer.step();
    }
  });
  // Step n has n ranks less, and the gradient is their share of all.
  const double steps = (group().size() + 1) / 2.0;
  CHECK(torch::allclose(module->weight, torch::full({3}, -steps, here()), 1e-2));
}

TEST_CASE("a hook takes no sparse gradients") {
  const auto embedding =
      std::make_shared<torch::nn::EmbeddingImpl>(torch::nn::EmbeddingOptions(5, 3).sparse(true));
  embedding->to(group().device());
  CHECK_THROWS_WITH((DistributedDataParallel<torch::nn::EmbeddingImpl>{
                        embedding, group(), {.comm_hook = CommHook::kBf16Compress}}),
                    contains(group().device().is_cuda() ? "is sparse, which NCCL cannot"
                                                        : "comm_hook takes no sparse"));
}

/// Its gradient is its input, [20, 30]; that of `bias`, which is not compressed, the mean of it.
struct Matrix : torch::nn::Module {
  Matrix() {
    weight = register_parameter("weight", torch::zeros({20, 30}, here()));
    bias = register_parameter("bias", torch::zeros({4}, here()));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return (weight * x).sum() + (bias * x.mean()).sum();
  }
  torch::Tensor weight, bias;
};

/// A matrix of the same rank for all, and this rank's multiple of it.
torch::Tensor mine_of_rank(std::int64_t rank) {
  torch::manual_seed(7);
  const torch::Tensor matrix = torch::matmul(torch::randn({20, rank}), torch::randn({rank, 30}));
  return matrix.to(group().device()) * (1.0 + group().rank());
}

struct PowerSgd {
  explicit PowerSgd(const PowerSgdOptions& options)
      : ddp{module, group(), {.comm_hook = CommHook::kPowerSgd, .power_sgd = options}} {}

  torch::Tensor gradient_of(const torch::Tensor& input) {
    module->zero_grad();
    ddp.forward(input).backward();
    return module->weight.grad().clone();
  }

  std::shared_ptr<Matrix> module = std::make_shared<Matrix>();
  DistributedDataParallel<Matrix> ddp;
};

torch::Tensor mean_of(const torch::Tensor& mine) {
  const torch::Tensor mean = mine.clone();
  group().all_reduce(mean);
  return mean / group().size();
}

TEST_CASE("PowerSGD sends the first steps as they are, then matrices of its rank without loss") {
  const std::int64_t rank = GENERATE(1, 2, 4);
  PowerSgd training{{.matrix_approximation_rank = rank, .start_powerSGD_iter = 2}};
  for (int step = 0; step < 5; ++step) {
    const torch::Tensor input = mine_of_rank(step < 2 ? 20 : rank);
    CHECK(torch::allclose(training.gradient_of(input), mean_of(input), 1e-4, 1e-4));
    CHECK(torch::allclose(training.module->bias.grad(), mean_of(input.mean()).expand({4}), 1e-4,
                          1e-5));
  }
}

TEST_CASE("what PowerSGD loses in a step comes along in the next ones, the same on all ranks") {
  PowerSgd with_memory{{.matrix_approximation_rank = 2, .start_powerSGD_iter = 2}};
  PowerSgd without{
      {.matrix_approximation_rank = 2, .start_powerSGD_iter = 2, .use_error_feedback = false}};
  const torch::Tensor input = mine_of_rank(20);
  const torch::Tensor expected = mean_of(input);
  torch::Tensor sum = torch::zeros_like(input), sum_without = torch::zeros_like(input);
  constexpr int kSteps = 100;
  for (int step = -2; step < kSteps; ++step) {
    const torch::Tensor gradient = with_memory.gradient_of(input);
    const torch::Tensor lossy = without.gradient_of(input);
    CHECK(torch::equal(gradient * group().size(), mean_of(gradient) * group().size()));
    if (step < 0) continue;
    sum += gradient;
    sum_without += lossy;
  }
  const double error = (sum / kSteps - expected).norm().item<double>();
  CHECK(error < 0.2 * expected.norm().item<double>());
  CHECK(error < 0.5 * (sum_without / kSteps - expected).norm().item<double>());
}

TEST_CASE("ranks that have run out join in what PowerSGD sums") {
  PowerSgd training{{.start_powerSGD_iter = 2}};
  torch::optim::SGD optimizer{training.module->parameters(), 1};
  const torch::Tensor input = mine_of_rank(1);
  training.ddp.join([&] {
    for (int step = 0; step < 4 + group().rank(); ++step) {
      training.gradient_of(input);
      optimizer.step();
    }
  });
  const torch::Tensor weight = training.module->weight.detach();
  CHECK(weight.isfinite().all().item<bool>());
  CHECK(torch::allclose(weight, mean_of(weight)));
}

TEST_CASE("options of PowerSGD that make no sense are refused") {
  CHECK_THROWS_WITH(PowerSgd{{.matrix_approximation_rank = 0}}, contains("rank is below 1"));
  CHECK_THROWS_WITH(PowerSgd{{.start_powerSGD_iter = 1}}, contains("start_powerSGD_iter"));
  CHECK_THROWS_WITH(PowerSgd{{.min_compression_rate = 0}}, contains("min_compression_rate"));
  PowerSgd at_once{{.start_powerSGD_iter = 0, .use_error_feedback = false, .warm_start = false}};
  CHECK(
      torch::allclose(at_once.gradient_of(mine_of_rank(1)), mean_of(mine_of_rank(1)), 1e-4, 1e-4));
}

}  // namespace
}  // namespace ddprun::sdk
