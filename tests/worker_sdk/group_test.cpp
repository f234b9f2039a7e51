// Tests of what ranks do together. ddprun runs this program on several ranks, which all go through
// the same test cases in the same order.

#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/worker_sdk/group_fixture.hpp"
#include "worker_sdk/checkpointer.hpp"
#include "worker_sdk/safetensors.hpp"

namespace ddprun::sdk {
namespace {

namespace fs = std::filesystem;

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

/// A folder that all ranks see: the one of rank 0.
class SharedFolder {
 public:
  SharedFolder() {
    torch::Tensor name = torch::zeros({4096}, torch::kUInt8);
    const std::string own = folder_.path().string();
    std::copy(own.begin(), own.end(), name.mutable_data_ptr<std::uint8_t>());
    group().broadcast(name);
    path_ = reinterpret_cast<const char*>(name.const_data_ptr<std::uint8_t>());
  }
  ~SharedFolder() { group().barrier(); }  // nobody removes it while others look
  const fs::path& path() const { return path_; }

 private:
  ScratchFolder folder_;
  fs::path path_;
};

template <typename Optimizer>
void train(Network& network, Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    network.forward(torch::full({3, 4}, 0.1 * (i + 1)) + torch::eye(3, 4)).pow(2).sum().backward();
    optimizer.step();
  }
}

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

TEMPLATE_TEST_CASE("a checkpoint brings back module and optimizer, so that training goes on alike",
                   "", torch::optim::SGD, torch::optim::Adam, torch::optim::AdamW) {
  using Options =
      std::conditional_t<std::is_same_v<TestType, torch::optim::SGD>, torch::optim::SGDOptions,
                         std::conditional_t<std::is_same_v<TestType, torch::optim::Adam>,
                                            torch::optim::AdamOptions, torch::optim::AdamWOptions>>;
  Options options{0.05};
  if constexpr (std::is_same_v<TestType, torch::optim::SGD>) options.momentum(0.9);
  const SharedFolder folder;
  Network straight{1};
  TestType optimizer{straight.parameters(), options};
  train(straight, optimizer, 3);
  Checkpointer{folder.path(), group()}.save(straight, optimizer, {3, {{"epoch", "1"}}});
  group().barrier();
  train(straight, optimizer, 3);

  Network resumed{2};
  TestType fresh{resumed.parameters(), options};
  const auto progress = Checkpointer{folder.path(), group()}.load_latest(resumed, fresh);
  REQUIRE(progress.has_value());
  CHECK(progress->step == 3);
  CHECK(progress->metadata.at("epoch") == "1");
  train(resumed, fresh, 3);
  const auto parameters = resumed.named_parameters();
  for (const auto& expected : straight.named_parameters())
    CHECK(torch::equal(parameters[expected.key()], expected.value()));
  CHECK(torch::equal(resumed.norm->running_var, straight.norm->running_var));
}

TEST_CASE("without a checkpoint there is nothing to load") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  CHECK_FALSE(
      Checkpointer{folder.path() / "new", group()}.load_latest(network, optimizer).has_value());
}

TEST_CASE("only the newest checkpoints are kept, and a damaged one is passed over by all ranks") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group(), 2};
  for (int step = 8; step <= 11; ++step) checkpointer.save(network, optimizer, {step, {}});
  group().barrier();
  CHECK_FALSE(fs::exists(checkpointer.path_of(9)));
  CHECK(fs::exists(checkpointer.path_of(10)));
  group().barrier();
  if (group().rank() == 0)
    fs::resize_file(checkpointer.path_of(11), fs::file_size(checkpointer.path_of(11)) - 1);
  CHECK(checkpointer.load_latest(network, optimizer)->step == 10);
}

TEST_CASE("a checkpoint of another model is refused, naming what does not fit") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group()};
  if (group().rank() == 0)
    save_safetensors(checkpointer.path_of(1), {{{"first.bias", torch::zeros({9})}}, {}});
  CHECK_THROWS_WITH(checkpointer.load_latest(network, optimizer), contains("'first.bias'"));
}

TEST_CASE("what a killed worker left half-written is cleared away") {
  const SharedFolder folder;
  const auto leftover = folder.path() / ".checkpoint-000000000007.safetensors.tmp";
  const auto foreign = folder.path() / ".something.tmp";
  if (group().rank() == 0) {
    std::ofstream{leftover} << "half";
    std::ofstream{foreign} << "not ours";
  }
  const Checkpointer checkpointer{folder.path(), group()};
  group().barrier();
  CHECK_FALSE(fs::exists(leftover));
  CHECK(fs::exists(foreign));
}

TEST_CASE("a full disk is an error that names the file, and older checkpoints stay") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group(), 1};
  checkpointer.save(network, optimizer, {1, {}});
  if (group().rank() == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit full{100, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    CHECK_THROWS_WITH(checkpointer.save(network, optimizer, {2, {}}),
                      contains("checkpoint-000000000002.safetensors': File too large"));
    setrlimit(RLIMIT_FSIZE, &before);
  }
  group().barrier();
  CHECK(checkpointer.load_latest(network, optimizer)->step == 1);
  CHECK(std::distance(fs::directory_iterator{folder.path()}, {}) == 1);
}

}  // namespace
}  // namespace ddprun::sdk
