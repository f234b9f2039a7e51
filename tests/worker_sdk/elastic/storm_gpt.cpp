// A GPT in an elastic loop, for scripts/bench storm: `storm_gpt FOLDER STEPS`
//
// It trains on the bytes of FOLDER/text. Each worker appends lines of JSON to FOLDER/told: the
// samples of each step before it trains on them, and the step's mean loss when it counts.
// scripts/benchmarks/storm_gpt.py is the same in Python.

#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ddprun/sdk.hpp"
#include "worker_sdk/examples/gpt.hpp"

namespace {

using namespace ddprun::sdk;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t kSaveEvery = 100;
constexpr std::int64_t kWarmUp = 100;
constexpr gpt::ModelOptions kSizes{.layers = 2, .heads = 2, .width = 64, .context = 32};

struct Windows {
  torch::Tensor inputs;
  torch::Tensor targets;
  std::vector<std::int64_t> indices;
};

/// The bytes of a file as tokens, [N] int64.
torch::Tensor tokens_of(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  torch::Tensor tokens = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  std::ranges::copy(bytes, static_cast<char*>(tokens.data_ptr()));
  return tokens.to(torch::kInt64);
}

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Training {
 public:
  Training(fs::path folder, std::int64_t steps) : folder_{std::move(folder)}, steps_{steps} {
    run_.keep("model", *model_);
    run_.keep("optimizer", optimizer_);
    run_.keep("schedule", schedule_);
    run_.keep("data", loader_);
    if (fs::exists(saved_)) run_.load_state_dict(load_safetensors(saved_));
  }

  void run() {
    ProcessGroupOptions options;
    options.backend = "gloo";
    options.timeout = std::chrono::seconds{120};
    run_.worlds([this](World& world) { train(world); }, options);
  }

 private:
  void train(World& world) {
    auto ddp = world.wrap(model_);
    tell(world, "world", {{"step", run_.step()}});
    while (run_.step() < steps_) {
      const Windows batch = world.next(loader_);
      tell(world, "samples", {{"step", run_.step() + 1}, {"indices", batch.indices}});
      const torch::Tensor loss = ddp.forward(batch.inputs, batch.targets);
      loss.backward();
      torch::Tensor mean = loss.detach();
      world.group().all_reduce(mean);
      world.update([&] {
        optimizer_.step();
        ddp.zero_grad();
        schedule_.step();
      });
      tell(world, "step", {{"step", run_.step()}, {"loss", mean.item<double>() / world.size()}});
      if (run_.step() % kSaveEvery == 0 && world.rank() == 0)
        save_safetensors(saved_, run_.state_dict());
    }
  }

  /// Several processes write to the file, and each line at once.
  void tell(const World& world, const std::string& what, json facts) {
    facts.update({{"what", what},
                  {"at", monotonic_seconds()},
                  {"round", world.group().env().round},
                  {"rank", world.rank()},
                  {"size", world.size()},
                  {"pid", getpid()}});
    told_ << facts << std::endl;
  }

  Windows fetch(const std::vector<std::int64_t>& indices) const {
    const torch::Tensor begin = torch::tensor(indices, torch::kInt64).unsqueeze(1) * kSizes.context;
    const torch::Tensor rows = tokens_.index({begin + torch::arange(kSizes.context + 1)});
    return {rows.slice(1, 0, kSizes.context).contiguous(), rows.slice(1, 1).contiguous(), indices};
  }

  fs::path folder_;
  std::int64_t steps_;
  fs::path saved_ = folder_ / "run.safetensors";
  std::ofstream told_{folder_ / "told", std::ios::app};
  torch::Tensor tokens_ = tokens_of(folder_ / "text");
  std::shared_ptr<gpt::GPT> model_ = std::make_shared<gpt::GPT>(kSizes);
  torch::optim::AdamW optimizer_{model_->parameters(),
                                 torch::optim::AdamWOptions{1e-3}.betas({0.9, 0.95})};
  LRScheduler schedule_{
      optimizer_,
      SequentialLR{{LinearLR{1.0 / (kWarmUp + 1), 1, kWarmUp},
                    CosineAnnealingLR{std::max<std::int64_t>(1, steps_ - kWarmUp), 1e-4}},
                   {kWarmUp}}};
  ElasticLoader<Windows> loader_{(tokens_.numel() - 1) / kSizes.context,
                                 [this](const auto& indices) { return fetch(indices); },
                                 {.global_batch = 60, .seed = 7, .workers = 0}};
  ElasticRun run_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: storm_gpt FOLDER STEPS" << std::endl;
    return 2;
  }
  return run_worker([&] {
    torch::set_num_threads(1);
    Training{argv[1], std::stoll(argv[2])}.run();
  });
}
