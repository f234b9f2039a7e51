// C++ and Python workers in one job. Run by itself, the program spawns the workers; run by ddprun,
// it is one of them. Every other worker becomes a Python program, which says the same in Python.

#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/safetensors.hpp"
#include "ddprun/spawn.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun::sdk {
namespace {

constexpr char kPythonWorker[] = R"(
import datetime
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=2))
rank, size = dist.get_rank(), dist.get_world_size()
total = size * (size + 1) // 2

t = torch.full((2, 3), rank + 1)
dist.all_reduce(t)
assert t.eq(total).all(), t
t = torch.full((2,), rank)
dist.broadcast(t, size - 1)
assert t.eq(size - 1).all(), t
all = torch.empty(size, dtype=torch.int64)
dist.all_gather_into_tensor(all, torch.tensor([rank]))
assert all.tolist() == list(range(size)), all
mine = torch.empty(1, dtype=torch.int64)
dist.reduce_scatter_tensor(mine, torch.arange(size))
assert mine.item() == size * rank, mine
swapped = torch.empty(size, dtype=torch.int64)
dist.all_to_all_single(swapped, torch.arange(size) + 10 * rank)
assert swapped.tolist() == [10 * i + rank for i in range(size)], swapped
pair = dist.new_group([0, 1])
rest = dist.new_group(list(range(size)))
if rank < 2:
    t = torch.tensor(rank + 1)
    dist.all_reduce(t, group=pair)
    assert t.item() == 3, t
    if rank == 1:
        dist.send(torch.tensor(41), 0)
    else:
        dist.recv(t, 1)
        assert t.item() == 41, t
dist.barrier(group=rest)
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
)";

/// A job whose rank r has 3 + 2 r batches; arguments: folder, divide_by_initial_world_size.
constexpr char kPythonJoin[] = R"(
import os
import sys
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn

folder, divide = sys.argv[1], sys.argv[2] == "1"
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(1)
network = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
ddp = nn.parallel.DistributedDataParallel(network)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
with ddp.join(divide_by_initial_world_size=divide):
    for step in range(3 + 2 * rank):
        torch.manual_seed(1000 * rank + step)
        optimizer.zero_grad()
        ddp(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()
save_file(network.state_dict(), f"{folder}/python-{sys.argv[2]}-{rank}")
dist.barrier()
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
)";

/// Does in C++ what kPythonJoin does.
void join_in_cpp(const std::string& folder, bool divide) {
  torch::set_num_threads(1);
  const ProcessGroup group = init_process_group({.backend = "gloo"});
  torch::manual_seed(1);
  using torch::nn::SequentialImpl;
  auto network = std::make_shared<SequentialImpl>();
  network->push_back(torch::nn::Linear(4, 8));  // in this order they draw their weights
  network->push_back(torch::nn::BatchNorm1d(8));
  network->push_back(torch::nn::Tanh());
  network->push_back(torch::nn::Linear(8, 2));
  DistributedDataParallel<SequentialImpl> ddp{network, group};
  torch::optim::SGD optimizer{network->parameters(), 0.1};
  ddp.join(
      [&] {
        for (int step = 0; step < 3 + 2 * group.rank(); ++step) {
          torch::manual_seed(1000 * group.rank() + step);
          ddp.zero_grad();
          ddp.forward(torch::randn({6, 4})).pow(2).mean().backward();
          optimizer.step();
        }
      },
      {.divide_by_initial_world_size = divide});
  save_safetensors(folder + "/cpp-" + (divide ? "1" : "0") + "-" + std::to_string(group.rank()),
                   {state_dict(*network), {}});
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error{"not so: " + what};
}

void work_in_cpp() {
  const ProcessGroup group =
      init_process_group({.backend = "gloo", .timeout = std::chrono::minutes{2}});
  const int rank = group.rank();
  const int size = group.size();

  const torch::Tensor sum = torch::full({2, 3}, rank + 1, torch::kInt64);
  group.all_reduce(sum);
  require(sum.eq(size * (size + 1) / 2).all().item<bool>(), "all_reduce sums");
  const torch::Tensor from_last = torch::full({2}, rank, torch::kInt64);
  group.broadcast(from_last, size - 1);
  require(from_last.eq(size - 1).all().item<bool>(), "broadcast copies");
  const torch::Tensor all = torch::empty({size}, torch::kInt64);
  group.all_gather_into_tensor(all, torch::full({1}, rank, torch::kInt64));
  require(torch::equal(all, torch::arange(size)), "all_gather_into_tensor gathers");
  const torch::Tensor mine = torch::empty({1}, torch::kInt64);
  group.reduce_scatter_tensor(mine, torch::arange(size));
  require(mine.item<int>() == size * rank, "reduce_scatter_tensor sums");
  const torch::Tensor swapped = torch::empty({size}, torch::kInt64);
  group.all_to_all_single(swapped, torch::arange(size) + 10 * rank);
  require(torch::equal(swapped, 10 * torch::arange(size) + rank), "all_to_all_single swaps");
  const auto pair = group.new_group({0, 1});
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto rest = group.new_group(ranks);
  if (pair) {
    const torch::Tensor number = torch::tensor(std::int64_t{rank + 1});
    pair->all_reduce(number);
    require(number.item<int>() == 3, "a sub-group sums");
    if (rank == 1)
      group.send(torch::tensor(std::int64_t{41}), 0);
    else
      require(group.recv(number, 1) == 1 && number.item<int>() == 41, "a message arrives");
  }
  rest->barrier();
}

/// The workers whose rank is `python` modulo 2 are Python's.
void work(int rank, int python) {
  if (rank % 2 != python) return work_in_cpp();
  execl(DDPRUN_PYTHON, DDPRUN_PYTHON, "-c", kPythonWorker, nullptr);
  throw std::runtime_error{std::string{"cannot run "} + DDPRUN_PYTHON};
}

TEST_CASE("C++ and Python workers understand one another, whichever serves the store") {
  if (const char* rank = std::getenv("RANK")) {  // the launcher does
    CHECK_NOTHROW(work(std::atoi(rank), 1));
    return;
  }
  for (const int python : {0, 1}) CHECK_NOTHROW(spawn([&](int rank) { work(rank, python); }, 4));
}

TEST_CASE("join() leaves the model that Python's leaves, where ranks have 3 and 5 batches") {
  if (std::getenv("RANK") != nullptr) {
    SUCCEED("it spawns its workers by itself");
    return;
  }
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  for (const bool divide : {true, false}) {
    CHECK_NOTHROW(spawn([&](int) { join_in_cpp(path, divide); }, 2));
    CHECK_NOTHROW(spawn(
        [&](int) {
          execl(DDPRUN_PYTHON, DDPRUN_PYTHON, "-c", kPythonJoin, path.c_str(), divide ? "1" : "0",
                nullptr);
          throw std::runtime_error{std::string{"cannot run "} + DDPRUN_PYTHON};
        },
        2));
  }
  for (const std::string what : {"1-0", "1-1", "0-0", "0-1"}) {
    INFO(what);
    const auto ours = load_safetensors(folder / ("cpp-" + what)).tensors;
    const auto pythons = load_safetensors(folder / ("python-" + what)).tensors;
    REQUIRE(ours.size() == pythons.size());
    for (const auto& [name, tensor] : pythons) {
      INFO(name);
      CHECK(torch::allclose(ours.at(name).to(torch::kFloat64), tensor.to(torch::kFloat64), 1e-5,
                            1e-6));
    }
  }
}

}  // namespace
}  // namespace ddprun::sdk
