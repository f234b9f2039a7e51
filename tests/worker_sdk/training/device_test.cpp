// What runs on a GPU where there is one, else on the CPU: the same cases, so that scripts/gpu-check
// runs there what is tested everywhere.

#include <numeric>

#include "ddprun/checkpointer.hpp"
#include "ddprun/data_loader.hpp"
#include "ddprun/device_prefetcher.hpp"
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/fused_optimizers.hpp"
#include "ddprun/mixed_precision.hpp"
#include "ddprun/objects.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pipeline.hpp"
#include "ddprun/zero_redundancy_optimizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/worker_sdk/ranks.hpp"
#include "tests/worker_sdk/shared_folder.hpp"

namespace ddprun::sdk {
namespace {

using torch::nn::SequentialImpl;

std::shared_ptr<SequentialImpl> make_network(std::uint64_t seed = 5) {
  torch::manual_seed(seed);
  auto network = std::make_shared<SequentialImpl>(torch::nn::Linear(6, 5), torch::nn::Tanh(),
                                                  torch::nn::Linear(5, 4));
  network->to(group().device());
  return network;
}

torch::Tensor batch_of_step(int step) {
  torch::manual_seed(step);
  return torch::randn({4 * group().size(), 6}).to(group().device());
}

void check_close(const torch::Tensor& a, const torch::Tensor& b) {
  CHECK(torch::allclose(a, b, 1e-4, 1e-5));
}

TEST_CASE("collectives on the device") {
  torch::Tensor sum = torch::full({3}, group().rank() + 1.0, group().device());
  group().all_reduce(sum);
  check_close(sum, torch::full({3}, group().size() * (group().size() + 1) / 2.0, sum.device()));
  const auto all = group().all_gather(torch::full({2}, group().rank() + 1.0, group().device()));
  CHECK(all.back()[0].item<int>() == group().size());
  nlohmann::json name = group().rank() == 0 ? "from rank 0" : "";
  broadcast_object(group(), name);
  CHECK(name == "from rank 0");
  group().barrier();
}

TEST_CASE("batches are on the device when they are taken, whatever was copied meanwhile") {
  const auto fetch = [](const std::vector<std::int64_t>& wanted) {
    return std::pair{torch::full({1 << 20}, static_cast<double>(wanted[0])), torch::tensor(wanted)};
  };
  std::vector<std::int64_t> order(30);
  std::iota(order.begin(), order.end(), 0);
  DataLoader<std::pair<torch::Tensor, torch::Tensor>> loader{
      order, fetch, {.batch_size = 1, .workers = 2, .pin_memory = true}};
  DevicePrefetcher batches{loader, group().device()};
  torch::Tensor sums = torch::zeros({30}, group().device());
  while (auto batch = batches.next()) {
    CHECK(batch->first.device() == group().device());
    sums.index_add_(0, batch->second, batch->first.mean().unsqueeze(0));
  }
  check_close(sums, torch::arange(30.0, group().device()));
}

TEST_CASE("tensors on the CPU are carried, too") {
  const torch::Tensor sum = torch::full({3}, group().rank() + 1.0);
  group().all_reduce(sum, ReduceOp::AVG);
  check_close(sum, torch::full({3}, (group().size() + 1) / 2.0));
  const auto all = group().new_group(group().global_ranks());
  REQUIRE(all);
  const torch::Tensor from_last = torch::tensor({group().rank()});
  all->broadcast(from_last, group().size() - 1);
  CHECK(from_last.item<int>() == group().size() - 1);
  group().barrier();
}

TEST_CASE("DDP and no_sync on the device give the gradients of the whole batch") {
  auto network = make_network();
  DistributedDataParallel<SequentialImpl> ddp{network, group()};
  auto alone = make_network();
  for (int step = 0; step < 3; ++step) {
    ddp.zero_grad();
    alone->zero_grad();
    {
      const auto guard = ddp.no_sync();
      ddp.forward(my_part(batch_of_step(step))).pow(2).mean().backward();
    }
    ddp.forward(my_part(batch_of_step(step + 10))).pow(2).mean().backward();
    alone->forward(batch_of_step(step)).pow(2).mean().backward();
    alone->forward(batch_of_step(step + 10)).pow(2).mean().backward();
    const auto expected = alone->parameters();
    for (std::size_t i = 0; i < expected.size(); ++i)
      check_close(network->parameters()[i].grad(), expected[i].grad());
  }
}

TEST_CASE("float16 with a scaler on the device: finite steps are made, others left out") {
  auto network = make_network();
  DistributedDataParallel<SequentialImpl> ddp{network, group()};
  torch::optim::SGD optimizer{network->parameters(), 0.1};
  GradScaler scaler{{.init_scale = 1024}};
  const auto step = [&](double factor) {
    ddp.zero_grad();
    torch::Tensor loss;
    {
      const Autocast half{group().device().type(), torch::kFloat16};
      const auto output = ddp.forward(my_part(batch_of_step(1)));
      CHECK(output.scalar_type() == torch::kFloat16);
      loss = output.to(torch::kFloat32).pow(2).mean();
    }
    scaler.scale(loss * factor).backward();
    const bool stepped = scaler.step(optimizer);
    scaler.update();
    return stepped;
  };
  CHECK(step(1));
  const torch::Tensor before = network->parameters()[0].detach().clone();
  CHECK_FALSE(step(std::numeric_limits<double>::infinity()));
  CHECK(torch::equal(network->parameters()[0], before));
  CHECK(scaler.get_scale() == 512);
}

/// One step on a batch; with a scaler the loss is scaled, and the gradients are not.
template <typename Optimizer>
void train(SequentialImpl& network, Optimizer& optimizer, int step, GradScaler* scaler = nullptr) {
  optimizer.zero_grad();
  const torch::Tensor loss = network.forward(batch_of_step(step)).pow(2).mean();
  if (scaler == nullptr) {
    loss.backward();
    optimizer.step();
    return;
  }
  scaler->scale(loss).backward();
  CHECK(scaler->step(optimizer));
  scaler->update();
}

void check_same_parameters(const SequentialImpl& ours, const SequentialImpl& expected) {
  const auto parameters = ours.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    check_close(parameters[i], expected.parameters()[i]);
}

template <typename Fused, typename Plain, typename Options>
void check_fused(const Options& options) {
  for (const bool scales : {false, true}) {
    auto network = make_network();
    auto expected = make_network();
    Fused fused{network->parameters(), options};
    Plain plain{expected->parameters(), options};
    GradScaler scaler{{.init_scale = 256}};
    for (int step = 0; step < 4; ++step) {
      train(*network, fused, step, scales ? &scaler : nullptr);
      train(*expected, plain, step);
    }
    check_same_parameters(*network, *expected);
  }
}

TEST_CASE("fused optimizers on the device leave what LibTorch's leave, also of scaled gradients") {
  check_fused<FusedAdamW, torch::optim::AdamW>(torch::optim::AdamWOptions{0.05});
  check_fused<FusedAdam, torch::optim::Adam>(torch::optim::AdamOptions{0.05}.amsgrad(true));
  check_fused<FusedSGD, torch::optim::SGD>(torch::optim::SGDOptions{0.05}.momentum(0.9));
}

TEST_CASE("a checkpoint brings back what is on the device, with the device's random numbers") {
  const SharedFolder folder;
  const auto options = torch::optim::AdamWOptions{0.05};
  auto network = make_network();
  FusedAdamW optimizer{network->parameters(), options};
  train(*network, optimizer, 1);
  torch::manual_seed(100 + group().rank());
  { Checkpointer{folder.path(), group()}.save(*network, optimizer, {.step = 1}); }
  const torch::Tensor expected = torch::rand({5}, group().device());
  train(*network, optimizer, 2);
  group().barrier();

  auto loaded = make_network(6);
  FusedAdamW fresh{loaded->parameters(), options};
  const auto progress = Checkpointer{folder.path(), group()}.load_latest(*loaded, fresh);
  REQUIRE(progress);
  CHECK(progress->step == 1);
  CHECK(loaded->parameters()[0].device() == group().device());
  CHECK(torch::equal(torch::rand({5}, group().device()), expected));
  train(*loaded, fresh, 2);
  check_same_parameters(*loaded, *network);
}

TEST_CASE("the sharded optimizer on the device leaves what the whole one leaves") {
  auto network = make_network();
  auto expected = make_network();
  torch::optim::Adam adam{network->parameters(), 0.05};
  torch::optim::Adam whole{expected->parameters(), 0.05};
  ZeroRedundancyOptimizer optimizer{adam, group()};
  for (int step = 0; step < 3; ++step) {
    for (auto* one : {network.get(), expected.get()}) {
      one->zero_grad();
      one->forward(batch_of_step(step)).pow(2).mean().backward();
    }
    optimizer.step();
    whole.step();
  }
  check_same_parameters(*network, *expected);
  optimizer.consolidate();
  if (group().rank() != 0) return;
  const auto state = optimizer_state(adam);
  CHECK(state.size() == optimizer_state(whole).size());
  for (const auto& [name, tensor] : optimizer_state(whole)) {
    INFO(name);
    CHECK(torch::allclose(state.at(name).cpu().to(torch::kFloat64),
                          tensor.cpu().to(torch::kFloat64), 1e-4, 1e-5));
    const int owner = optimizer.owners()[static_cast<std::size_t>(std::stoi(name))];
    CHECK((owner == 0 || state.at(name).is_cpu()));
  }
}

TEST_CASE("a pipeline of as many stages as ranks on the device has the whole network's loss") {
  std::vector<torch::nn::Linear> stages;
  for (int i = 0; i < group().size(); ++i) {
    torch::manual_seed(20 + i);
    stages.emplace_back(torch::nn::Linear{6, 6});
    stages.back()->to(group().device());
  }
  Pipeline pipeline{*stages[group().rank()], group(), {.micro_batches = 2}};
  const torch::Tensor input = batch_of_step(1), target = torch::ones_like(input);
  const auto mean_square = [](const torch::Tensor& output, const torch::Tensor& wanted) {
    return torch::mse_loss(output, wanted);
  };
  const torch::Tensor loss = pipeline.step(input, target, mean_square);
  torch::Tensor output = input;
  for (auto& one : stages) output = one(output);
  CHECK(loss.defined() == pipeline.is_last());
  if (pipeline.is_last()) check_close(loss, torch::mse_loss(output, target));
}

}  // namespace
}  // namespace ddprun::sdk
