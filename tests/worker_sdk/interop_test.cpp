// C++ and Python workers in one job. Run by itself, the program spawns the workers; run by ddprun,
// it is one of them. Every other worker becomes a Python program, which says the same in Python.

#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "tests/support/catch.hpp"
#include "worker_sdk/process_group.hpp"
#include "worker_sdk/spawn.hpp"

namespace ddprun::sdk {
namespace {

constexpr char kPythonWorker[] = R"(
import datetime
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
)";

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

TEST_CASE("C++ and Python workers understand one another, whoever serves the store") {
  if (const char* rank = std::getenv("RANK")) {  // the launcher does
    CHECK_NOTHROW(work(std::atoi(rank), 1));
    return;
  }
  for (const int python : {0, 1}) CHECK_NOTHROW(spawn([&](int rank) { work(rank, python); }, 4));
}

}  // namespace
}  // namespace ddprun::sdk
