// Tests of what ranks do together. ddprun runs this program on several ranks, which all go through
// the same test cases in the same order.

#include "tests/support/catch.hpp"
#include "tests/worker_sdk/group_fixture.hpp"
#include "worker_sdk/distributed_data_parallel.hpp"

namespace ddprun::sdk {
namespace {

struct Network : torch::nn::Module {
  explicit Network(std::uint64_t seed) {
    torch::manual_seed(seed);
    first = register_module("first", torch::nn::Linear(4, 8));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    second = register_module("second", torch::nn::Linear(8, 2));
  }
  torch::Tensor forward(torch::Tensor x) { return second(torch::tanh(norm(first(x)))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};

TEST_CASE("all_reduce, broadcast and barrier do what their names say") {
  torch::Tensor sum = torch::full({3}, group().rank() + 1.0);
  group().all_reduce(sum);
  CHECK(torch::equal(sum, torch::full({3}, group().size() * (group().size() + 1) / 2.0)));
  torch::Tensor most = torch::tensor({group().rank()});
  group().all_reduce(most, c10d::ReduceOp::MAX);
  CHECK(most.item<int>() == group().size() - 1);
  torch::Tensor from_last = torch::tensor({group().rank()});
  group().broadcast(from_last, group().size() - 1);
  CHECK(from_last.item<int>() == group().size() - 1);
  group().barrier();
}

TEST_CASE("an unknown backend and NCCL without a GPU are refused with a sentence") {
  CHECK_THROWS_WITH(init_process_group({.backend = "mpi"}, group().env()),
                    contains("has no ProcessGroupMPI"));
  CHECK_THROWS_WITH(init_process_group({.backend = "nickel"}, group().env()),
                    contains("backend 'nickel': expected nccl, gloo"));
  if (torch::cuda::device_count() == 0)
    CHECK_THROWS_WITH(init_process_group({.backend = "nccl"}, group().env()),
                      contains("needs a GPU for every worker"));
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

TEST_CASE("DDP gives every rank the gradients of the whole batch") {
  auto network = std::make_shared<Network>(7);
  network->eval();  // batch statistics would differ between a part and the whole
  DistributedDataParallel<Network> ddp{network, group()};
  Network alone{7};
  alone.eval();
  for (int step = 0; step < 3; ++step) {  // the buckets are rebuilt after the first
    torch::manual_seed(step);
    const torch::Tensor batch = torch::randn({2 * group().size(), 4});
    ddp.zero_grad();
    ddp.forward(batch.narrow(0, 2 * group().rank(), 2)).pow(2).mean().backward();
    alone.zero_grad();
    alone.forward(batch).pow(2).mean().backward();
    const auto grads = network->named_parameters();
    for (const auto& parameter : alone.named_parameters()) {
      INFO(parameter.key());
      CHECK(torch::allclose(grads[parameter.key()].grad(), parameter.value().grad(), 1e-5, 1e-7));
    }
  }
}

TEST_CASE("small buckets reduce the same gradients") {
  auto network = std::make_shared<Network>(7);
  DistributedDataParallel<Network> ddp{network, group(), {.bucket_cap_mb = 1e-5}};
  for (int step = 0; step < 2; ++step) {
    ddp.zero_grad();
    ddp.forward(torch::full({2, 4}, group().rank() + 1.0)).sum().backward();
  }
  torch::Tensor grad = network->second->bias.grad();
  CHECK(torch::allclose(grad, torch::full({2}, 2.0)));
}

TEST_CASE("zero_grad of DDP leaves no gradient, where the optimizer's would throw") {
  auto network = std::make_shared<Network>(7);
  DistributedDataParallel<Network> ddp{network, group()};
  ddp.forward(torch::ones({2, 4})).sum().backward();
  CHECK(network->first->weight.grad().defined());
  ddp.zero_grad();
  CHECK_FALSE(network->first->weight.grad().defined());
}

TEST_CASE("a module that has nothing to train is refused") {
  auto network = std::make_shared<Network>(7);
  for (auto& parameter : network->parameters()) parameter.requires_grad_(false);
  CHECK_THROWS_WITH((DistributedDataParallel<Network>{network, group()}),
                    contains("no parameter that needs a gradient"));
}

}  // namespace
}  // namespace ddprun::sdk
