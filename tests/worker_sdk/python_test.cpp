// What the SDK does is what Python does: asked of the PyTorch that LibTorch comes from.

#include "tests/support/python.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "ddprun/data_partitioner.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/safetensors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "worker_sdk/group/exception_text.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("the sampler gives the indices that PyTorch's gives") {
  const std::string expected = python(R"(
from torch.utils.data.distributed import DistributedSampler
for size in (1, 7, 100, 1437):
    for replicas in (1, 2, 3, 8):
        for shuffle in (False, True):
            for drop_last in (False, True):
                for epoch in (0, 5):
                    for rank in range(replicas):
                        sampler = DistributedSampler(range(size), replicas, rank, shuffle=shuffle,
                                                     seed=42, drop_last=drop_last)
                        sampler.set_epoch(epoch)
                        print(*sampler)
)");
  std::ostringstream ours;
  for (const int size : {1, 7, 100, 1437})
    for (const int replicas : {1, 2, 3, 8})
      for (const bool shuffle : {false, true})
        for (const bool drop_last : {false, true})
          for (const int epoch : {0, 5})
            for (int rank = 0; rank < replicas; ++rank) {
              DistributedSampler sampler{
                  size, replicas, rank, {.shuffle = shuffle, .seed = 42, .drop_last = drop_last}};
              sampler.set_epoch(epoch);
              const char* separator = "";
              for (const auto index : sampler.indices()) {
                ours << separator << index;
                separator = " ";
              }
              ours << '\n';
            }
  CHECK(ours.str() == expected);
}

TEST_CASE("the partitioner gives the parts of PyTorch's tutorial") {
  const std::string expected = python(R"(
from random import Random
def partition(length, sizes, seed):
    rng = Random()
    rng.seed(seed)
    indexes = list(range(length))
    rng.shuffle(indexes)
    for fraction in sizes:
        count = int(fraction * length)
        print(*indexes[:count])
        indexes = indexes[count:]
for length in (1, 2, 10, 1000, 60000):
    for seed in (0, 1, 1234, 4294967295):
        partition(length, [1 / 3] * 3, seed)
partition(100, [0.7, 0.2, 0.1], 1234)
)");
  std::ostringstream ours;
  const auto print = [&](const DataPartitioner& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const char* separator = "";
      for (const auto index : parts.use(i)) {
        ours << separator << index;
        separator = " ";
      }
      ours << '\n';
    }
  };
  for (const int length : {1, 2, 10, 1000, 60000})
    for (const std::uint32_t seed : {0U, 1U, 1234U, 4294967295U})
      print(DataPartitioner{length, {1 / 3.0, 1 / 3.0, 1 / 3.0}, seed});
  print(DataPartitioner{100});
  CHECK(ours.str() == expected);
}

TEST_CASE("the launcher of PyTorch reads what a worker records of an exception") {
  const ScratchFolder folder;
  const auto record = folder / "error.json";
  std::ofstream{record} << error_record({"std::runtime_error: no \"x\"", "line\nanother"}, 1234);
  CHECK(python("from torch.distributed.elastic.multiprocessing.errors import ProcessFailure\n"
               "f = ProcessFailure(0, 1, 1, \"" +
               record.string() +
               "\")\n"
               "print(f.message[\"message\"], f.message[\"extraInfo\"][\"py_callstack\"], "
               "f.timestamp)") == "std::runtime_error: no \"x\" line\nanother 1234\n");
}

TEST_CASE("Python's safetensors reads what we write, and we read what it writes") {
  const ScratchFolder folder;
  const auto from_here = folder / "cpp.safetensors";
  const auto from_python = folder / "python.safetensors";
  save_safetensors(from_here, {{{"weight", torch::arange(6, torch::kFloat32).reshape({2, 3})},
                                {"step", torch::tensor(7, torch::kInt64)},
                                {"half", torch::ones({3}, torch::kBFloat16)}},
                               {{"epoch", "5"}}});
  const std::string seen = python(R"(
import torch, safetensors
from safetensors.torch import load_file, save_file
tensors = load_file(")" + from_here.string() +
                                  R"(")
with safetensors.safe_open(")" + from_here.string() +
                                  R"(", "pt") as file:
    print(file.metadata())
print(sorted(tensors), tensors["weight"].tolist(), tensors["step"].item(), tensors["half"].dtype)
save_file(tensors, ")" + from_python.string() +
                                  R"(", metadata={"by": "python"})
)");
  CHECK_THAT(seen, contains("{'epoch': '5'}"));
  CHECK_THAT(seen, contains("['half', 'step', 'weight'] [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] 7 "
                            "torch.bfloat16"));
  const SafeTensors back = load_safetensors(from_python);
  CHECK(back.metadata.at("by") == "python");
  CHECK(torch::equal(back.tensors.at("weight"), torch::arange(6, torch::kFloat32).reshape({2, 3})));
  CHECK(back.tensors.at("half").scalar_type() == torch::kBFloat16);
}

/// What an optimizer has learned in two steps, as the Python program below prints it.
template <typename Optimizer, typename Options>
std::string state_after_two_steps(const Options& options) {
  torch::Tensor parameter = torch::arange(4, torch::kFloat32).requires_grad_();
  Optimizer optimizer{std::vector<torch::Tensor>{parameter}, options};
  for (int step = 0; step < 2; ++step) {
    parameter.mutable_grad() = parameter.detach() + 1;
    optimizer.step();
  }
  std::string text;
  for (const auto& [name, tensor] : optimizer_state(optimizer)) {
    text += name;
    const torch::Tensor values = tensor.to(torch::kFloat64).flatten();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), " %.4f", values[i].item<double>());
      text += number.data();
    }
    text += '\n';
  }
  return text;
}

TEST_CASE("the states of optimizers have the names and values of Python's") {
  const std::string expected = python(R"(
import torch
for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
             lambda p: torch.optim.Adam(p, 0.1, amsgrad=True),
             lambda p: torch.optim.AdamW(p, 0.1),
             lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.9, centered=True),
             lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.5)):
    parameter = torch.nn.Parameter(torch.arange(4.0))
    optimizer = make([parameter])
    for _ in range(2):
        parameter.grad = parameter.detach() + 1
        optimizer.step()
    for name, value in sorted(optimizer.state_dict()["state"][0].items()):
        values = torch.as_tensor(value).double().flatten().tolist()
        print(f"0/{name}", *(f"{one:.4f}" for one in values))
)");
  using namespace torch::optim;
  CHECK(state_after_two_steps<SGD>(SGDOptions{0.1}.momentum(0.9)) +
            state_after_two_steps<Adam>(AdamOptions{0.1}.amsgrad(true)) +
            state_after_two_steps<AdamW>(AdamWOptions{0.1}) +
            state_after_two_steps<RMSprop>(RMSpropOptions{0.1}.momentum(0.9).centered(true)) +
            state_after_two_steps<Adagrad>(AdagradOptions{0.1}.lr_decay(0.5)) ==
        expected);
}

}  // namespace
}  // namespace ddprun::sdk
