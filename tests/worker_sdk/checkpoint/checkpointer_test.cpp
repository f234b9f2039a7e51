// Tests of checkpoints that ranks save and load together. ddprun runs this program on several
// ranks, which all go through the same test cases in the same order.

#include "ddprun/checkpointer.hpp"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "ddprun/fused_optimizers.hpp"
#include "ddprun/lr_scheduler.hpp"
#include "ddprun/mixed_precision.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/safetensors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/python.hpp"
#include "tests/worker_sdk/checkpoint_files/disk_calls.hpp"
#include "tests/worker_sdk/shared_folder.hpp"
#include "worker_sdk/checkpoint_files/checkpoint_folder.hpp"

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

template <typename Optimizer>
void train(Network& network, Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    network.forward(torch::full({3, 4}, 0.1 * (i + 1)) + torch::eye(3, 4)).pow(2).sum().backward();
    optimizer.step();
  }
}

/// What rank 0 prints while it lives.
class CapturedErrors {
 public:
  CapturedErrors() : before_{std::cerr.rdbuf(text_.rdbuf())} {}
  ~CapturedErrors() { std::cerr.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

void check_equal(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto state = state_dict(b);
  for (const auto& [name, tensor] : state_dict(a)) {
    INFO(name);
    CHECK(torch::equal(tensor, state.at(name)));
  }
}

template <typename Optimizer>
auto options_for() {
  if constexpr (std::is_same_v<Optimizer, torch::optim::SGD>)
    return torch::optim::SGDOptions{0.05}.momentum(0.9);
  else if constexpr (std::is_same_v<Optimizer, torch::optim::Adam>)
    return torch::optim::AdamOptions{0.05}.amsgrad(true);
  else if constexpr (std::is_same_v<Optimizer, torch::optim::RMSprop>)
    return torch::optim::RMSpropOptions{0.05}.momentum(0.9).centered(true);
  else if constexpr (std::is_same_v<Optimizer, torch::optim::Adagrad>)
    return torch::optim::AdagradOptions{0.05}.lr_decay(0.1);
  else
    return torch::optim::AdamWOptions{0.05};
}

/// Turns the last bit of a file round.
void damage(const fs::path& path) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(last);
}

TEMPLATE_TEST_CASE("a checkpoint brings back module and optimizer, so that training goes on alike",
                   "", torch::optim::SGD, torch::optim::Adam, torch::optim::AdamW,
                   torch::optim::RMSprop, torch::optim::Adagrad, FusedAdamW) {
  for (const bool asynchronous : {false, true}) {
    const SharedFolder folder;
    const CheckpointerOptions options{.asynchronous = asynchronous};
    Network straight{1};
    TestType optimizer{straight.parameters(), options_for<TestType>()};
    train(straight, optimizer, 3);
    {
      Checkpointer checkpointer{folder.path(), group(), options};
      checkpointer.save(
          straight, optimizer,
          {.step = 3, .epoch = 1, .sampler = SamplerState{1, 12}, .metadata = {{"a", "b"}}});
      train(straight, optimizer, 3);  // while it is written
    }
    group().barrier();

    Network resumed{2};
    TestType fresh{resumed.parameters(), options_for<TestType>()};
    const auto progress = Checkpointer{folder.path(), group()}.load_latest(resumed, fresh);
    REQUIRE(progress.has_value());
    CHECK(progress->step == 3);
    CHECK(progress->epoch == 1);
    CHECK(progress->sampler == SamplerState{1, 12});
    CHECK(progress->metadata.at("a") == "b");
    train(resumed, fresh, 3);
    check_equal(straight, resumed);
  }
}

TEST_CASE("the optimizer's options come back, whatever it was made with") {
  const SharedFolder folder;
  Network network{1};
  using torch::optim::AdamOptions;
  torch::optim::Adam optimizer{network.parameters(), AdamOptions{0.1}.betas({0.8, 0.99}).eps(1e-6)};
  static_cast<AdamOptions&>(optimizer.param_groups()[0].options()).lr(0.025);  // a scheduler's work
  { Checkpointer{folder.path(), group()}.save(network, optimizer, {.step = 1}); }
  group().barrier();
  torch::optim::Adam fresh{network.parameters(), AdamOptions{0.1}};
  Checkpointer{folder.path(), group()}.load_latest(network, fresh);
  const auto& restored = static_cast<const AdamOptions&>(fresh.param_groups()[0].options());
  CHECK(restored.lr() == 0.025);
  CHECK(restored.betas() == std::tuple{0.8, 0.99});
  CHECK(restored.eps() == 1e-6);
}

TEST_CASE("schedule and scaler go on where they stood; a checkpoint that lacks them is refused") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  LRScheduler schedule{optimizer, CosineAnnealingLR{.T_max = 10}};
  GradScaler scaler{{.init_scale = 1024, .growth_interval = 2}};
  {
    Checkpointer without{folder.path(), group()};
    without.save(network, optimizer, {.step = 1});
  }
  for (int step = 0; step < 3; ++step) {
    scaler.scale(network.forward(torch::eye(3, 4)).sum()).backward();
    scaler.step(optimizer);
    scaler.update();
    schedule.step();
  }
  const auto at_save = scaler.state();
  Checkpointer checkpointer{folder.path(), group()};
  checkpointer.keep("scheduler", schedule);
  checkpointer.keep("scaler", scaler);
  CHECK_THROWS_WITH(checkpointer.keep("scaler", scaler), contains("'scaler'"));
  CHECK_THROWS_WITH(checkpointer.load_latest(network, optimizer), contains("no state of 'sca"));
  optimizer.param_groups()[0].options().set_lr(0.05);
  checkpointer.save(network, optimizer, {.step = 2});
  checkpointer.wait();
  schedule.step();
  const std::vector<double> expected = schedule.get_last_lr();
  group().barrier();

  torch::optim::SGD fresh{network.parameters(), 0.1};
  LRScheduler resumed{fresh, CosineAnnealingLR{.T_max = 10}};
  GradScaler fresh_scaler{{.init_scale = 7, .growth_interval = 2}};
  Checkpointer loading{folder.path(), group()};
  loading.keep("scheduler", resumed);
  loading.keep("scaler", fresh_scaler);
  loading.load_latest(network, fresh);
  resumed.step();
  CHECK(resumed.get_last_lr() == expected);
  CHECK(fresh_scaler.state().scale == at_save.scale);
  CHECK(fresh_scaler.state().growth_tracker == at_save.growth_tracker);
  CHECK(at_save.growth_tracker == 1);
  CHECK_THROWS_WITH(fresh_scaler.restore_state("{}"), contains("not of a GradScaler"));
}

TEST_CASE("state of another optimizer is refused, and changes nothing") {
  Network network{1};
  torch::optim::Adam adam{network.parameters(), torch::optim::AdamOptions{0.1}};
  train(network, adam, 1);
  torch::optim::SGD sgd{network.parameters(), torch::optim::SGDOptions{0.1}};
  CHECK_THROWS_WITH(restore_optimizer_state(sgd, optimizer_state(adam)),
                    contains("of another optimizer"));
  CHECK(sgd.state().empty());
  CHECK_THROWS_WITH(restore_optimizer_options(sgd, optimizer_options(adam)),
                    contains("of another optimizer"));
  torch::optim::Adam smaller{{network.first->weight}, torch::optim::AdamOptions{0.1}};
  CHECK_THROWS_WITH(restore_optimizer_options(smaller, optimizer_options(adam)),
                    contains("other parameters"));
}

TEST_CASE("every rank draws the random numbers it would have drawn") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  torch::manual_seed(100 + group().rank());
  torch::rand({5});
  { Checkpointer{folder.path(), group()}.save(network, optimizer, {.step = 1}); }
  const torch::Tensor expected = torch::rand({5});
  torch::manual_seed(7);
  group().barrier();
  Checkpointer{folder.path(), group()}.load_latest(network, optimizer);
  CHECK(torch::equal(torch::rand({5}), expected));
}

TEST_CASE("what is saved is the state at the time of the call, not of the write") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  const Network before{1};
  Checkpointer checkpointer{folder.path(), group()};
  for (int step = 1; step <= 3; ++step) {
    checkpointer.save(network, optimizer, {.step = step});
    torch::NoGradGuard no_grad;
    for (auto& parameter : network.parameters()) parameter.add_(1);
  }
  checkpointer.wait();
  group().barrier();
  Network loaded{9};
  const auto model = load_safetensors(checkpointer.path_of(1) / kModelFile).tensors;
  load_state_dict(loaded, model);
  check_equal(loaded, before);
}

TEST_CASE("a checkpoint survives a power failure, unless the program says that it need not") {
  for (const auto durability : {Durability::kFsync, Durability::kNone}) {
    const SharedFolder folder;
    Network network{1};
    torch::optim::SGD optimizer{network.parameters(), 0.1};
    Checkpointer checkpointer{folder.path(), group(), {.durability = durability}};
    const DiskCalls calls{folder.path()};
    checkpointer.save(network, optimizer, {.step = 1});
    checkpointer.wait();
    const bool writes = group().rank() == 0 && durability == Durability::kFsync;
    CHECK(calls.count("fsync") == (writes ? 6 : 0));  // four files, and the folder before and after
  }
}

TEST_CASE("what an earlier attempt left half-written is gone when the next one begins") {
  const SharedFolder folder;
  const fs::path leftover = folder.path() / unfinished_name(7, "1-2-3");
  if (group().rank() == 0) fs::create_directory(leftover);
  group().barrier();
  const Checkpointer checkpointer{folder.path(), group()};
  group().barrier();
  CHECK_FALSE(fs::exists(leftover));
}

TEST_CASE("without a checkpoint there is nothing to load") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  CHECK_FALSE(
      Checkpointer{folder.path() / "new", group()}.load_latest(network, optimizer).has_value());
}

TEST_CASE("only the newest checkpoints are kept; a damaged one is passed over by all ranks") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group(), {.keep = 2, .keep_every = 4}};
  for (int step = 8; step <= 12; ++step) checkpointer.save(network, optimizer, {.step = step});
  checkpointer.wait();
  group().barrier();
  CHECK(fs::exists(checkpointer.path_of(8)));
  CHECK_FALSE(fs::exists(checkpointer.path_of(9)));
  CHECK_FALSE(fs::exists(checkpointer.path_of(10)));
  CHECK(fs::exists(checkpointer.path_of(11)));
  group().barrier();
  if (group().rank() == 0) damage(checkpointer.path_of(12) / kModelFile);
  const CapturedErrors errors;
  CHECK(checkpointer.load_latest(network, optimizer)->step == 11);
  group().barrier();
  if (group().rank() == 0) {
    CHECK_THAT(errors.text(), contains("passing over the damaged checkpoint") &&
                                  contains("checkpoint-000000000012") && contains("SHA-256"));
    fs::remove(checkpointer.path_of(11) / kManifestFile);
  }
  CHECK(checkpointer.load_latest(network, optimizer)->step == 8);
}

TEST_CASE("a checkpoint that was found damaged takes the place of no good one") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group(), {.keep = 2}};
  for (int step = 1; step <= 3; ++step) checkpointer.save(network, optimizer, {.step = step});
  checkpointer.wait();
  group().barrier();
  if (group().rank() == 0) damage(checkpointer.path_of(3) / kModelFile);
  const CapturedErrors errors;
  CHECK(checkpointer.load_latest(network, optimizer)->step == 2);
  checkpointer.save(network, optimizer, {.step = 4});
  checkpointer.wait();
  group().barrier();
  CHECK(fs::exists(checkpointer.path_of(2)));
  CHECK(fs::exists(checkpointer.path_of(4)));
}

TEST_CASE("a checkpoint of another model is refused, naming what does not fit") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  Checkpointer checkpointer{folder.path(), group()};
  checkpointer.save({{"first.bias", torch::zeros({9})}}, {}, {.step = 1});
  checkpointer.wait();
  group().barrier();
  CHECK_THROWS_WITH(checkpointer.load_latest(network, optimizer), contains("'first.bias'"));
}

TEST_CASE("a checkpoint that could not be written is reported at the next call; older ones stay") {
  for (const bool asynchronous : {false, true}) {
    const SharedFolder folder;
    Network network{1};
    torch::optim::SGD optimizer{network.parameters(), 0.1};
    Checkpointer checkpointer{folder.path(), group(), {.keep = 1, .asynchronous = asynchronous}};
    checkpointer.save(network, optimizer, {.step = 1});
    checkpointer.wait();
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit full{100, before.rlim_max};
    group().barrier();
    setrlimit(RLIMIT_FSIZE, &full);
    const auto save = [&] {
      checkpointer.save(network, optimizer, {.step = 2});
      checkpointer.wait();
    };
    if (group().rank() == 0)
      CHECK_THROWS_WITH(save(), contains("model.safetensors': File too large"));
    else
      CHECK_NOTHROW(save());
    setrlimit(RLIMIT_FSIZE, &before);
    group().barrier();
    CHECK(checkpointer.load_latest(network, optimizer)->step == 1);
  }
}

TEST_CASE("Python loads what was saved under the names of state_dict, and C++ what Python saved") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::Adam optimizer{network.parameters(), torch::optim::AdamOptions{0.1}};
  train(network, optimizer, 2);
  Checkpointer checkpointer{folder.path(), group()};
  checkpointer.save(network, optimizer, {.step = 1});
  checkpointer.wait();
  const fs::path from_python = folder.path() / "python.safetensors";
  if (group().rank() == 0) {
    const std::string folder_path = checkpointer.path_of(1).string();
    CHECK(python(R"(
import torch
from safetensors.torch import load_file, save_file
class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.second = torch.nn.Linear(8, 2)
network = Network()
state = load_file(")" +
                 folder_path + R"(/model.safetensors")
assert sorted(state) == sorted(network.state_dict()), sorted(state)
network.load_state_dict(state)
optimizer = load_file(")" +
                 folder_path + R"(/optimizer.safetensors")
print(sorted(optimizer)[:3], optimizer["0/step"].item())
with torch.no_grad():
    network.second.bias.fill_(7)
save_file(network.state_dict(), ")" +
                 from_python.string() + R"(")
)") == "['0/exp_avg', '0/exp_avg_sq', '0/step'] 2\n");
  }
  group().barrier();
  load_state_dict(network, load_safetensors(from_python).tensors);
  CHECK(torch::equal(network.second->bias, torch::full({2}, 7.0)));
}

TEST_CASE("what is still being written when the checkpointer goes is complete") {
  const SharedFolder folder;
  Network network{1};
  torch::optim::SGD optimizer{network.parameters(), 0.1};
  {
    Checkpointer checkpointer{folder.path(), group()};
    checkpointer.save(network, optimizer, {.step = 5});
  }
  group().barrier();
  const auto entry = verify_checkpoint(folder.path() / checkpoint_name(5));
  CHECK(entry.state == CheckpointState::kComplete);
  CHECK(entry.manifest->world_size == group().size());
}

}  // namespace
}  // namespace ddprun::sdk
