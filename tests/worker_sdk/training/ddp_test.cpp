// DistributedDataParallel on several ranks, against one process that sees the whole batch.

#include "ddprun/distributed_data_parallel.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"
#include "worker_sdk/group/waits.hpp"

namespace ddprun::sdk {
namespace {

struct Network : torch::nn::Module {
  explicit Network(std::uint64_t seed, int hidden = 8) {
    torch::manual_seed(seed);
    first = register_module("first", torch::nn::Linear(4, hidden));
    norm = register_module("norm", torch::nn::BatchNorm1d(hidden));
    second = register_module("second", torch::nn::Linear(hidden, 2));
  }
  torch::Tensor forward(torch::Tensor x) { return second(torch::tanh(norm(first(x)))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};

/// A trunk and two heads; a step uses those that it is asked for.
struct Heads : torch::nn::Module {
  Heads() {
    torch::manual_seed(1);
    trunk = register_module("trunk", torch::nn::Linear(4, 4));
    left = register_module("left", torch::nn::Linear(4, 2));
    right = register_module("right", torch::nn::Linear(4, 2));
  }
  torch::Tensor forward(torch::Tensor x, bool use_left) {
    return use_left ? left(trunk(x)) : right(trunk(x));
  }
  torch::nn::Linear trunk{nullptr}, left{nullptr}, right{nullptr};
};

struct TwoOutputs : torch::nn::Module {
  TwoOutputs() {
    torch::manual_seed(1);
    left = register_module("left", torch::nn::Linear(4, 2));
    right = register_module("right", torch::nn::Linear(4, 2));
  }
  std::tuple<torch::Tensor, std::vector<torch::Tensor>> forward(torch::Tensor x) {
    return {left(x), {right(x)}};
  }
  torch::nn::Linear left{nullptr}, right{nullptr};
};

torch::Tensor batch_of_step(int step, int rows_per_rank = 2) {
  torch::manual_seed(step);
  return torch::randn({rows_per_rank * group().size(), 4});
}

void check_same_gradients(const torch::nn::Module& ours, const torch::nn::Module& expected) {
  const auto mine = ours.named_parameters();
  for (const auto& parameter : expected.named_parameters()) {
    INFO(parameter.key());
    CHECK(torch::allclose(mine[parameter.key()].grad(), parameter.value().grad(), 1e-5, 1e-6));
  }
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_CASE("a backward pass counts as a wait for other ranks as long as it may be one") {
  const auto module = std::make_shared<torch::nn::LinearImpl>(3, 1);
  module->to(group().device());
  DistributedDataParallel<torch::nn::LinearImpl> ddp{module, group()};
  const auto open = [] {
    const Waits waits = waits_for_ranks();
    return waits.begun - waits.ended;
  };
  const torch::Tensor inputs = torch::ones({2, 3}, group().device());
  const auto before = open();
  {
    const auto guard = ddp.no_sync();
    ddp.forward(inputs).sum().backward();
    CHECK(open() == before);
  }
  const torch::Tensor outputs = ddp.forward(inputs);
  CHECK(open() == before + 1);
  outputs.sum().backward();
  const torch::NoGradGuard no_grad;
  ddp.forward(inputs);
  CHECK(open() == before);
}

TEST_CASE("DDP starts everybody with the weights and buffers of rank 0") {
  auto network = std::make_shared<Network>(group().rank());
  network->norm->running_mean.fill_(group().rank() + 1.0);
  const DistributedDataParallel<Network> ddp{network, group()};
  const Network of_rank_0{0};
  const auto mine = network->named_parameters();
  for (const auto& expected : of_rank_0.named_parameters())
    CHECK(torch::equal(mine[expected.key()], expected.value()));
  CHECK(torch::equal(network->norm->running_mean, torch::ones({8})));
}

TEST_CASE("DDP gives every rank the gradients of the whole batch, whatever the buckets") {
  const double bucket_cap_mb = GENERATE(25.0, 1e-5);
  const bool as_view = GENERATE(false, true);
  auto network = std::make_shared<Network>(7);
  network->eval();  // batch statistics would differ between a part and the whole
  DistributedDataParallel<Network> ddp{
      network, group(), {.bucket_cap_mb = bucket_cap_mb, .gradient_as_bucket_view = as_view}};
  Network alone{7};
  alone.eval();
  for (int step = 0; step < 3; ++step) {  // the buckets are rebuilt after the first
    const torch::Tensor batch = batch_of_step(step);
    ddp.zero_grad();
    ddp.forward(my_part(batch)).pow(2).mean().backward();
    alone.zero_grad();
    alone.forward(batch).pow(2).mean().backward();
    check_same_gradients(*network, alone);
  }
}

TEST_CASE("zero_grad leaves no gradient: DDP's always, the optimizer's if gradients are no views") {
  for (const bool as_view : {false, true}) {
    auto network = std::make_shared<Network>(7);
    DistributedDataParallel<Network> ddp{network, group(), {.gradient_as_bucket_view = as_view}};
    torch::optim::SGD optimizer{network->parameters(), 0.1};
    for (int step = 0; step < 3; ++step) {
      ddp.forward(torch::ones({2, 4})).sum().backward();
      CHECK(network->first->weight.grad().defined());
      optimizer.step();
      if (as_view) {
        CHECK_THROWS_AS(optimizer.zero_grad(), c10::Error);
        ddp.zero_grad();
      } else {
        optimizer.zero_grad();
      }
      CHECK_FALSE(network->first->weight.grad().defined());
    }
  }
}

TEST_CASE("no_sync can be switched by a condition") {
  auto network = std::make_shared<Network>(7);
  network->eval();
  DistributedDataParallel<Network> ddp{network, group()};
  Network alone{7};
  alone.eval();
  for (int step = 0; step < 4; ++step) {
    const auto guard = ddp.no_sync(step % 2 == 0);
    ddp.forward(my_part(batch_of_step(step))).pow(2).mean().backward();
    alone.forward(batch_of_step(step)).pow(2).mean().backward();
    if (step % 2 == 0) continue;
    check_same_gradients(*network, alone);
    ddp.zero_grad();
    alone.zero_grad();
  }
}

TEST_CASE("a tensor that is registered under two names is refused") {
  struct Tied : torch::nn::Module {
    Tied() {
      input = register_module("input", torch::nn::Linear(4, 4));
      weight = register_parameter("output", input->weight);
    }
    torch::nn::Linear input{nullptr};
    torch::Tensor weight;
  };
  const std::string message = message_of([&] {
    DistributedDataParallel<Tied>{std::make_shared<Tied>(), group()};
  });
  CHECK_THAT(message, contains("the parameters 'output' and 'input.weight' are one tensor") ||
                          contains("the parameters 'input.weight' and 'output' are one tensor"));
}

TEST_CASE("with no_sync, the gradients of several batches are reduced once, as one") {
  auto network = std::make_shared<Network>(7);
  network->eval();
  DistributedDataParallel<Network> ddp{network, group()};
  Network alone{7};
  alone.eval();
  for (int step = 0; step < 3; ++step) {
    ddp.zero_grad();
    alone.zero_grad();
    {
      const auto guard = ddp.no_sync();
      for (int part = 0; part < 2; ++part)
        ddp.forward(my_part(batch_of_step(10 * step + part))).pow(2).mean().backward();
    }
    ddp.forward(my_part(batch_of_step(10 * step + 2))).pow(2).mean().backward();
    for (int part = 0; part < 3; ++part)
      alone.forward(batch_of_step(10 * step + part)).pow(2).mean().backward();
    check_same_gradients(*network, alone);
  }
}

TEST_CASE("within no_sync, gradients are this rank's own") {
  auto network = std::make_shared<Network>(7);
  network->eval();
  DistributedDataParallel<Network> ddp{network, group()};
  Network alone{7};
  alone.eval();
  {
    const auto guard = ddp.no_sync();
    ddp.forward(my_part(batch_of_step(0))).pow(2).mean().backward();
  }
  alone.forward(my_part(batch_of_step(0))).pow(2).mean().backward();
  check_same_gradients(*network, alone);
}

TEST_CASE("a parameter that only some ranks use gets the mean over all of them") {
  auto network = std::make_shared<Heads>();
  DistributedDataParallel<Heads> ddp{network, group(), {.find_unused_parameters = true}};
  for (int step = 0; step < 2; ++step) {
    ddp.zero_grad();
    ddp.forward(torch::ones({1, 4}), /*use_left=*/group().rank() == 0).sum().backward();
    const double left_share = 1.0 / group().size();
    CHECK(torch::allclose(network->left->bias.grad(), torch::full({2}, left_share)));
    if (group().size() == 1) {
      CHECK_FALSE(network->right->bias.grad().defined());
    } else {
      CHECK(torch::allclose(network->right->bias.grad(), torch::full({2}, 1 - left_share)));
    }
  }
}

TEST_CASE("a parameter that no rank uses keeps no gradient") {
  auto network = std::make_shared<Heads>();
  DistributedDataParallel<Heads> ddp{network, group(), {.find_unused_parameters = true}};
  ddp.forward(torch::ones({1, 4}), true).sum().backward();
  CHECK(network->left->weight.grad().defined());
  CHECK_FALSE(network->right->weight.grad().defined());
}

TEST_CASE("an unused parameter without find_unused_parameters is an error in the next step") {
  auto network = std::make_shared<Heads>();
  DistributedDataParallel<Heads> ddp{network, group()};
  ddp.forward(torch::ones({1, 4}), true).sum().backward();
  CHECK_THROWS_WITH(
      ddp.forward(torch::ones({1, 4}), true),
      contains("find_unused_parameters=True") && contains("These are right.weight, right.bias"));
  group().barrier();
}

TEST_CASE("outputs may be tuples and vectors, and some of them may not be in the loss") {
  auto network = std::make_shared<TwoOutputs>();
  DistributedDataParallel<TwoOutputs> ddp{network, group(), {.find_unused_parameters = true}};
  for (int step = 0; step < 2; ++step) {
    ddp.zero_grad();
    const auto [left, right] = ddp.forward(torch::full({1, 4}, group().rank() + 1.0));
    CHECK(right.at(0).sizes() == torch::IntArrayRef{1, 2});
    left.sum().backward();
    const double mean_rank = (group().size() + 1) / 2.0;
    CHECK(torch::allclose(network->left->weight.grad(), torch::full({2, 4}, mean_rank)));
    CHECK_FALSE(network->right->weight.grad().defined());
  }
}

TEST_CASE("a static graph may leave parameters out, without being searched for them") {
  auto network = std::make_shared<Heads>();
  DistributedDataParallel<Heads> ddp{network, group(), {.static_graph = true}};
  const double mean_rank = (group().size() + 1) / 2.0;
  for (int step = 0; step < 4; ++step) {
    ddp.zero_grad();
    ddp.forward(torch::full({1, 4}, group().rank() + 1.0), true).sum().backward();
    CHECK(torch::allclose(network->left->bias.grad(), torch::ones({2})));
    CHECK(torch::allclose(network->trunk->weight.grad().select(1, 0),
                          mean_rank * network->left->weight.sum(0)));
  }
}

TEST_CASE("sparse gradients of an embedding are reduced as sparse ones") {
  torch::manual_seed(1);
  auto network =
      std::make_shared<torch::nn::EmbeddingImpl>(torch::nn::EmbeddingOptions(5, 3).sparse(true));
  DistributedDataParallel<torch::nn::EmbeddingImpl> ddp{network, group()};
  ddp.forward(torch::tensor({group().rank() % 5})).sum().backward();
  const torch::Tensor gradient = network->weight.grad();
  REQUIRE(gradient.is_sparse());
  CHECK(gradient.to_dense()[0][0].item<double>() == Approx(1.0 / group().size()));
}

TEST_CASE("buffers are rank 0's before every forward, unless they are not to be") {
  const bool broadcast = GENERATE(true, false);
  auto network = std::make_shared<Network>(7);
  DistributedDataParallel<Network> ddp{network, group(), {.broadcast_buffers = broadcast}};
  ddp.forward(my_part(batch_of_step(0)) + group().rank()).sum().backward();
  network->eval();  // leaves the running statistics alone
  torch::Tensor own = network->norm->running_mean.clone();
  ddp.forward(my_part(batch_of_step(0))).sum().backward();
  if (broadcast) group().broadcast(own);
  CHECK(torch::equal(network->norm->running_mean, own));
}

TEST_CASE("a module that has nothing to train is refused") {
  auto network = std::make_shared<Network>(7);
  for (auto& parameter : network->parameters()) parameter.requires_grad_(false);
  CHECK_THROWS_WITH((DistributedDataParallel<Network>{network, group()}),
                    contains("no parameter that needs a gradient"));
}

TEST_CASE("a bucket size that is not above zero is refused") {
  auto network = std::make_shared<Network>(7);
  CHECK_THROWS_WITH((DistributedDataParallel<Network>{network, group(), {.bucket_cap_mb = 0}}),
                    contains("bucket_cap_mb is 0.000000, expected more than 0"));
}

TEST_CASE("a module of another shape on one rank is refused on all, with its parameter's name") {
  const int last = group().size() - 1;
  if (too_few_ranks(2)) return;
  auto network = std::make_shared<Network>(7, group().rank() == last ? 9 : 8);
  const std::string message = message_of([&] {
    DistributedDataParallel<Network>{network, group()};
  });
  CHECK(message == "DistributedDataParallel: the module is not the same on all ranks: rank " +
                       std::to_string(last) +
                       " has parameter 'first.weight' Float [9, 4] where rank 0 has parameter "
                       "'first.weight' Float [8, 4]");
}

TEST_CASE("a dtype, a frozen parameter and a missing one are differences, too") {
  const int last = group().size() - 1;
  if (too_few_ranks(2)) return;
  const bool differs = group().rank() == last;
  auto dtype = std::make_shared<Network>(7);
  if (differs) dtype->second->to(torch::kFloat64);
  CHECK_THAT(message_of([&] {
               DistributedDataParallel<Network>{dtype, group()};
             }),
             contains("'second.weight' Double [2, 8] where rank 0 has"));
  auto frozen = std::make_shared<Network>(7);
  if (differs) frozen->second->bias.requires_grad_(false);
  CHECK_THAT(message_of([&] {
               DistributedDataParallel<Network>{frozen, group()};
             }),
             contains("'second.bias' Float [2] without gradient where rank 0 has"));
  torch::nn::Sequential fewer{torch::nn::Linear(2, 2)};
  if (!differs) fewer->push_back(torch::nn::Linear(2, 2));
  CHECK_THAT(message_of([&] {
               DistributedDataParallel<torch::nn::SequentialImpl>{fewer.ptr(), group()};
             }),
             contains("rank " + std::to_string(last) + " lacks parameter '1.weight'"));
}

}  // namespace
}  // namespace ddprun::sdk
