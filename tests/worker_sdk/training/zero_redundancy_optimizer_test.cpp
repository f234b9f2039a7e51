// The sharded optimizer against the whole one, which every rank has for itself.

#include "ddprun/zero_redundancy_optimizer.hpp"

#include <numeric>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/fused_optimizers.hpp"
#include "ddprun/optimizer_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"

namespace ddprun::sdk {
namespace {

using torch::nn::SequentialImpl;

std::shared_ptr<SequentialImpl> make_network() {
  torch::manual_seed(5);
  return std::make_shared<SequentialImpl>(torch::nn::Linear(6, 5), torch::nn::Tanh(),
                                          torch::nn::Linear(5, 4), torch::nn::Linear(4, 3));
}

template <typename Optimizer>
std::unique_ptr<Optimizer> make_optimizer(SequentialImpl& network);
template <>
std::unique_ptr<torch::optim::SGD> make_optimizer(SequentialImpl& network) {
  return std::make_unique<torch::optim::SGD>(network.parameters(),
                                             torch::optim::SGDOptions(0.1).momentum(0.9));
}
template <>
std::unique_ptr<torch::optim::Adam> make_optimizer(SequentialImpl& network) {
  return std::make_unique<torch::optim::Adam>(network.parameters(),
                                              torch::optim::AdamOptions(0.05).amsgrad(true));
}
template <>
std::unique_ptr<torch::optim::AdamW> make_optimizer(SequentialImpl& network) {
  return std::make_unique<torch::optim::AdamW>(network.parameters(),
                                               torch::optim::AdamWOptions(0.05));
}
template <>
std::unique_ptr<FusedAdamW> make_optimizer(SequentialImpl& network) {
  return std::make_unique<FusedAdamW>(network.parameters(), torch::optim::AdamWOptions(0.05));
}
template <>
std::unique_ptr<torch::optim::RMSprop> make_optimizer(SequentialImpl& network) {
  return std::make_unique<torch::optim::RMSprop>(
      network.parameters(), torch::optim::RMSpropOptions(0.05).momentum(0.9).centered(true));
}
template <>
std::unique_ptr<torch::optim::Adagrad> make_optimizer(SequentialImpl& network) {
  return std::make_unique<torch::optim::Adagrad>(network.parameters(), 0.05);
}

/// The gradients of step `step`, the same on all ranks.
void backward(SequentialImpl& network, int step) {
  for (torch::Tensor& parameter : network.parameters()) parameter.mutable_grad().reset();
  torch::manual_seed(100 + step);
  network.forward(torch::randn({4, 6})).pow(2).sum().backward();
}

void check_same_parameters_as(const SequentialImpl& network, const SequentialImpl& expected) {
  const auto mine = network.named_parameters();
  for (const auto& parameter : expected.named_parameters()) {
    INFO(parameter.key());
    CHECK(torch::equal(mine[parameter.key()], parameter.value()));
  }
}

template <typename Optimizer>
struct Pair {
  std::shared_ptr<SequentialImpl> network = make_network();
  std::unique_ptr<Optimizer> inner = make_optimizer<Optimizer>(*network);
  ZeroRedundancyOptimizer optimizer{*inner, group()};
  std::shared_ptr<SequentialImpl> expected = make_network();
  std::unique_ptr<Optimizer> whole = make_optimizer<Optimizer>(*expected);

  void step(int number) {
    backward(*network, number);
    optimizer.step();
    backward(*expected, number);
    whole->step();
  }
};

TEMPLATE_TEST_CASE("the sharded optimizer leaves the parameters that the whole one leaves", "",
                   torch::optim::SGD, torch::optim::Adam, torch::optim::AdamW, FusedAdamW,
                   torch::optim::RMSprop, torch::optim::Adagrad) {
  Pair<TestType> pair;
  for (int step = 0; step < 4; ++step) pair.step(step);
  check_same_parameters_as(*pair.network, *pair.expected);
}

TEST_CASE("each rank keeps the state of its own parameters only, and all together keep all") {
  Pair<torch::optim::Adagrad> adagrad;  // whose state is there before the first step
  Pair<torch::optim::Adam> adam;
  adam.step(0);
  for (const torch::optim::Optimizer* one :
       {static_cast<torch::optim::Optimizer*>(adagrad.inner.get()),
        static_cast<torch::optim::Optimizer*>(adam.inner.get())}) {
    const auto mine = static_cast<std::int64_t>(one->state().size());
    if (group().size() > 1) CHECK(mine < 6);
    torch::Tensor all = torch::tensor({mine});
    group().all_reduce(all);
    CHECK(all.item<std::int64_t>() == 6);
  }
}

TEST_CASE("shares are about equal: the biggest parameter first, to the rank that has least") {
  std::vector<torch::Tensor> parameters;
  for (const int size : {1, 50, 20, 30, 60}) parameters.push_back(torch::zeros({size}));
  torch::optim::SGD sgd{parameters, 0.1};
  const ZeroRedundancyOptimizer optimizer{sgd, group()};
  const std::map<int, std::vector<int>> expected{
      {1, {0, 0, 0, 0, 0}}, {2, {0, 1, 0, 1, 0}}, {3, {1, 1, 2, 2, 0}}, {4, {3, 1, 3, 2, 0}}};
  if (expected.contains(group().size())) CHECK(optimizer.owners() == expected.at(group().size()));
}

TEMPLATE_TEST_CASE("consolidated, the state is that of the whole optimizer, until the next step",
                   "", torch::optim::SGD, torch::optim::Adam, torch::optim::AdamW, FusedAdamW,
                   torch::optim::RMSprop, torch::optim::Adagrad) {
  const int to = GENERATE(0, 1);
  if (too_few_ranks(to + 1)) return;
  Pair<TestType> pair;
  for (int step = 0; step < 2; ++step) pair.step(step);
  pair.optimizer.consolidate(to);
  if (group().rank() == to) {
    const auto state = optimizer_state(*pair.inner);
    const auto expected = optimizer_state(*pair.whole);
    REQUIRE(state.size() == expected.size());
    for (const auto& [name, tensor] : expected) {
      INFO(name);
      CHECK(torch::equal(state.at(name), tensor));
    }
  }
  pair.step(2);
  check_same_parameters_as(*pair.network, *pair.expected);
  if (group().size() > 1) CHECK(pair.inner->state().size() < 6);
}

TEST_CASE("a state that was saved consolidated goes on in a new sharded optimizer") {
  Pair<torch::optim::Adam> before;
  for (int step = 0; step < 2; ++step) before.step(step);
  const auto saved = optimizer_state(*before.whole);  // equal to the consolidated one: see above

  Pair<torch::optim::Adam> after;
  for (auto* network : {after.network.get(), after.expected.get()}) {
    torch::NoGradGuard no_grad;
    auto parameters = network->named_parameters();
    for (const auto& one : before.expected->named_parameters())
      parameters[one.key()].copy_(one.value());
  }
  restore_optimizer_state(*after.inner, saved);
  restore_optimizer_state(*after.whole, saved);
  after.step(2);
  check_same_parameters_as(*after.network, *after.expected);
}

TEST_CASE("with DDP, groups of parameters and a learning rate that changes") {
  auto network = make_network();
  auto expected = make_network();
  const auto groups_of = [](SequentialImpl& of) {
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(of.ptr(0)->parameters(), std::make_unique<torch::optim::SGDOptions>(0.5));
    auto rest = of.ptr(2)->parameters();
    for (const auto& parameter : of.ptr(3)->parameters()) rest.push_back(parameter);
    groups.emplace_back(rest);
    return groups;
  };
  DistributedDataParallel<SequentialImpl> ddp{network, group()};
  torch::optim::SGD sgd{groups_of(*network), torch::optim::SGDOptions(0.1)};
  ZeroRedundancyOptimizer optimizer{sgd, group()};
  torch::optim::SGD whole{groups_of(*expected), torch::optim::SGDOptions(0.1)};
  for (int step = 0; step < 3; ++step) {
    torch::manual_seed(step);
    const torch::Tensor batch = torch::randn({2 * group().size(), 6});
    ddp.zero_grad();
    ddp.forward(my_part(batch)).pow(2).mean().backward();
    optimizer.step();
    whole.zero_grad();
    expected->forward(batch).pow(2).mean().backward();
    whole.step();
    for (auto* one : {&sgd, &whole}) one->param_groups()[1].options().set_lr(0.1 / (step + 1));
  }
  const auto mine = network->named_parameters();
  for (const auto& parameter : expected->named_parameters()) {
    INFO(parameter.key());
    CHECK(torch::allclose(mine[parameter.key()], parameter.value(), 1e-5, 1e-6));
  }
}

TEST_CASE("what cannot be sharded is refused with a sentence") {
  auto network = make_network();
  torch::optim::LBFGS lbfgs{network->parameters()};
  CHECK_THROWS_WITH((ZeroRedundancyOptimizer{lbfgs, group()}), contains("the state of LBFGS"));
  torch::optim::SGD gaps{{torch::zeros({4, 4}).narrow(1, 0, 2)}, 0.1};
  CHECK_THROWS_WITH((ZeroRedundancyOptimizer{gaps, group()}),
                    contains("parameter 0 has strides that leave gaps"));
}

}  // namespace
}  // namespace ddprun::sdk
