// Statistics over all ranks, beside LibTorch's BatchNorm (which is Python's) over the whole batch.
// python_ddp_test.py compares a training.

#include "ddprun/sync_batch_norm.hpp"

#include <numeric>
#include <sstream>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/mixed_precision.hpp"
#include "ddprun/module_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

using torch::Tensor;
using torch::nn::BatchNormOptions;

constexpr std::int64_t kChannels = 3;

/// Rank r has r rows more than rank 0, which has `least`.
std::vector<std::int64_t> rows_of_ranks(std::int64_t least) {
  std::vector<std::int64_t> rows(group().size());
  std::iota(rows.begin(), rows.end(), least);
  return rows;
}

/// [rows of all ranks, 3, 4, 5], the same on all ranks, far from mean 0 and variance 1.
Tensor whole_batch(const std::vector<std::int64_t>& rows, int step) {
  torch::manual_seed(10 + step);
  const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  return torch::randn({all, kChannels, 4, 5}) * torch::tensor({1.0, 0.5, 30.0}).view({1, 3, 1, 1}) +
         torch::tensor({0.0, 2.0, -7.0}).view({1, 3, 1, 1}) + step;
}

Tensor mine(const Tensor& batch, const std::vector<std::int64_t>& rows) {
  return batch.split_with_sizes(rows)[group().rank()].to(group().device());
}

/// Not a sum of squares, whose gradient would vanish.
Tensor loss_of(const Tensor& output, const Tensor& target) { return (output * target).sum(); }

void check_near(const Tensor& ours, const Tensor& expected, double tolerance = 1e-5) {
  REQUIRE(ours.sizes() == expected.sizes());
  CHECK(torch::allclose(ours.cpu(), expected, tolerance, tolerance));
}

Tensor sum_over_ranks(const Tensor& tensor) {
  const Tensor sum = tensor.clone();
  group().all_reduce(sum);
  return sum;
}

/// A SyncBatchNorm, and a BatchNorm that gets the batches of all ranks.
struct Pair {
  explicit Pair(const BatchNormOptions& options, torch::ScalarType dtype = torch::kFloat32)
      : ours(options, group()), whole(options), type{dtype} {
    ours->to(group().device(), type);
    whole->to(type);
    torch::NoGradGuard no_grad;
    if (!options.affine()) return;
    for (Tensor weight : {whole->weight, whole->bias}) weight.uniform_(0.5, 2);
    ours->weight.copy_(whole->weight);
    ours->bias.copy_(whole->bias);
  }

  double tolerance() const { return type == torch::kFloat64 ? 1e-12 : 1e-5; }

  void check_step(const std::vector<std::int64_t>& rows, int step) {
    const Tensor inputs = whole_batch(rows, step).to(type).requires_grad_();
    const Tensor targets = torch::randn_like(inputs);
    const Tensor expected = whole->forward(inputs);
    loss_of(expected, targets).backward();
    const Tensor input = mine(inputs.detach(), rows).requires_grad_();
    const Tensor output = ours->forward(input);
    loss_of(output, mine(targets, rows)).backward();
    check_near(output, mine(expected, rows).cpu(), tolerance());
    check_near(input.grad(), mine(inputs.grad(), rows).cpu(), tolerance());
  }

  void check_state() {
    const auto expected = state_dict(*whole);
    for (const auto& [name, tensor] : state_dict(*ours)) {
      INFO(name);
      check_near(tensor.to(torch::kFloat64), expected.at(name).to(torch::kFloat64), tolerance());
    }
  }

  SyncBatchNorm ours;
  torch::nn::BatchNorm2d whole;
  torch::ScalarType type;
};

TEST_CASE("batches of all ranks are normalized as one, also of unequal sizes") {
  torch::manual_seed(1);
  Pair pair{BatchNormOptions{kChannels}};
  for (int step = 0; step < 3; ++step) pair.check_step(rows_of_ranks(2), step);
  pair.check_state();
  check_near(sum_over_ranks(pair.ours->weight.grad()), pair.whole->weight.grad(), 1e-4);
  check_near(sum_over_ranks(pair.ours->bias.grad()), pair.whole->bias.grad(), 1e-4);
}

TEST_CASE("a rank without rows takes part") {
  if (too_few_ranks(2)) return;
  torch::manual_seed(1);
  Pair pair{BatchNormOptions{kChannels}};
  pair.check_step(rows_of_ranks(0), 0);
  pair.check_state();
}

TEST_CASE("without weights, with a plain mean, and without running statistics") {
  Pair without_weights{BatchNormOptions{kChannels}.affine(false)};
  Pair plain_mean{BatchNormOptions{kChannels}.momentum(std::nullopt)};
  Pair without_statistics{BatchNormOptions{kChannels}.track_running_stats(false)};
  for (Pair* pair : {&without_weights, &plain_mean, &without_statistics}) {
    for (int step = 0; step < 3; ++step) pair->check_step(rows_of_ranks(1), step);
    pair->check_state();
  }
}

TEST_CASE("in evaluation each rank is by itself, and nothing is sent") {
  Pair pair{BatchNormOptions{kChannels}};
  pair.check_step(rows_of_ranks(2), 0);
  pair.ours->eval();
  pair.whole->eval();
  const Tensor inputs = whole_batch(rows_of_ranks(2), 1);
  if (group().rank() == 0)  // the others do not come
    check_near(pair.ours->forward(inputs.to(group().device())), pair.whole->forward(inputs));
  pair.check_state();
}

TEST_CASE("half precision comes out as it went in, by statistics in float32") {
  Pair pair{BatchNormOptions{kChannels}};
  const auto rows = rows_of_ranks(4);
  const Tensor inputs = whole_batch(rows, 0);
  const Tensor input = mine(inputs, rows).to(torch::kBFloat16).requires_grad_();
  const Autocast autocast{group().device().type(), torch::kBFloat16};
  const Tensor output = pair.ours->forward(input);
  output.sum().backward();
  CHECK(output.scalar_type() == torch::kBFloat16);
  CHECK(input.grad().scalar_type() == torch::kBFloat16);
  CHECK(pair.ours->running_mean.scalar_type() == torch::kFloat32);
  const Tensor expected = pair.whole->forward(inputs.to(torch::kBFloat16).to(torch::kFloat32));
  check_near(output.to(torch::kFloat32), mine(expected, rows).cpu(), 2e-2);
  pair.check_state();
}

TEST_CASE("float64 keeps its digits") {
  Pair pair{BatchNormOptions{kChannels}, torch::kFloat64};
  for (int step = 0; step < 3; ++step) pair.check_step(rows_of_ranks(2), step);
  pair.check_state();
}

/// As ResNets have it.
struct NormedNetwork : torch::nn::Module {
  NormedNetwork() {
    using namespace torch::nn;
    first = register_module("first", Linear(4, 8));
    norm = register_module("norm", SyncBatchNorm(8, group()));
    last = register_module("last", Linear(8, 2));
  }
  Tensor forward(const Tensor& x) { return last(torch::tanh(norm(first(x)))); }
  torch::nn::Linear first{nullptr}, last{nullptr};
  SyncBatchNorm norm{nullptr};
};

TEST_CASE("under DDP, all ranks have the gradients of the whole batch") {
  torch::manual_seed(2);
  const auto network = std::make_shared<NormedNetwork>();
  torch::nn::BatchNorm1d whole{8};
  torch::manual_seed(3);
  const Tensor inputs = torch::randn({6 * group().size(), 4});
  const Tensor hidden = torch::linear(inputs, network->first->weight, network->first->bias);
  torch::linear(torch::tanh(whole(hidden)), network->last->weight, network->last->bias)
      .pow(2)
      .mean()
      .backward();
  std::vector<Tensor> expected;
  for (const Tensor& parameter :
       {network->first->weight, whole->weight, whole->bias, network->last->weight})
    expected.push_back(parameter.grad().clone());
  network->zero_grad();
  network->to(group().device());
  DistributedDataParallel<NormedNetwork> ddp{network, group()};
  ddp.forward(my_part(inputs).to(group().device())).pow(2).mean().backward();
  check_near(network->first->weight.grad(), expected[0]);
  check_near(network->norm->weight.grad(), expected[1]);
  check_near(network->norm->bias.grad(), expected[2]);
  check_near(network->last->weight.grad(), expected[3]);
}

TEST_CASE("join() refuses what would wait for a rank without inputs") {
  const auto network = std::make_shared<NormedNetwork>();
  network->to(group().device());
  DistributedDataParallel<NormedNetwork> ddp{network, group()};
  CHECK_THROWS_WITH(ddp.join([] {}), contains("join() with a SyncBatchNorm"));
}

TEST_CASE("an input of another shape is refused") {
  SyncBatchNorm norm{kChannels, group()};
  CHECK_THROWS_WITH(norm(torch::zeros({2, 4})), contains("the input is [2, 4], expected [N, 3"));
  CHECK_THROWS_WITH(norm(torch::zeros({3})), contains("expected [N, 3, ...]"));
}

TEST_CASE("it can be cloned, and says what it is") {
  SyncBatchNorm norm{kChannels, group()};
  const auto copy = std::dynamic_pointer_cast<SyncBatchNormImpl>(norm->clone());
  REQUIRE(copy != nullptr);
  CHECK(torch::equal(copy->weight, norm->weight));
  CHECK(copy->weight.unsafeGetTensorImpl() != norm->weight.unsafeGetTensorImpl());
  std::ostringstream text;
  text << norm;
  CHECK_THAT(text.str(), contains("SyncBatchNorm(3, eps=1e-05, ranks="));
}

}  // namespace
}  // namespace ddprun::sdk
