// A small training with the elastic loop, for elastic_test.py:
//     elastic_worker FOLDER '{"steps": 20}'
//
// It saves FOLDER/run.safetensors, writes what each worker has used in a counted step to
// FOLDER/used.RANK, and its last state to FOLDER/end.RANK.safetensors.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ddprun/sdk.hpp"

namespace {

using namespace ddprun::sdk;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t kSamples = 50;

const std::map<std::string, int> kSignals = {{"SIGKILL", SIGKILL}, {"SIGSTOP", SIGSTOP}};

struct Batch {
  torch::Tensor inputs;
  torch::Tensor labels;
  std::vector<std::int64_t> indices;
};

Batch fetch(const std::vector<std::int64_t>& indices) {
  const torch::Tensor numbers = torch::tensor(indices, torch::kInt64);
  const torch::Tensor angles = numbers.unsqueeze(1) * torch::arange(1, 9);
  return {torch::sin(angles.to(torch::kFloat32)), numbers % 3, indices};
}

/// The options of a training: `given` over what stands here.
json options_with(const json& given) {
  json options = {{"global_batch", 12},
                  {"micro_batch", 0},
                  {"steps", 20},
                  {"save_every", 4},
                  {"workers", 1},
                  {"dies", json::array()},  // [rank, step] of each attempt: what ends there
                  {"where", "behind backward"},
                  {"how", "SIGKILL"},  // or another signal; "error": an exception
                  // These ranks wait at that step, and there, until the test releases them.
                  {"waits", {json::array(), 0, ""}},
                  {"catches", false},  // each step's errors, and goes on
                  {"loads", -1},       // the rank that alone loads run.safetensors; -1: all
                  {"device", "cpu"},   // or a GPU, with NCCL
                  {"strays", -1},      // the rank that changes what it has loaded
                  // The rank that waits, where it gets a state while it enters a world, until it is
                  // released.
                  {"enters_late", -1},
                  {"resize", true},
                  // [step, size]: from that step on, a world of fewer members takes its time for
                  // each. A worker that replaces another one comes no sooner.
                  {"slow", {0, 0}}};
  options.update(given);
  return options;
}

void wait_until_released(const fs::path& folder, const std::string& rank) {
  std::ofstream{folder / ("waits." + rank)};
  while (!fs::exists(folder / ("released." + rank)))
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
}

/// A part of the state, through which the rank passes that enters late.
class Gate : public Stateful {
 public:
  explicit Gate(fs::path folder) : folder_{std::move(folder)} {}

  /// The state that is loaded before the first world passes.
  void close(std::string rank) { rank_ = std::move(rank); }
  std::string save_state() const override { return ""; }
  void restore_state(const std::string&) override {
    if (!rank_.empty()) wait_until_released(folder_, rank_);
  }

 private:
  fs::path folder_;
  std::string rank_;
};

class Training {
 public:
  Training(fs::path folder, json options)
      : folder_{std::move(folder)}, options_(std::move(options)) {
    model_->to(device_);
    run_.keep("model", *model_);
    run_.keep("optimizer", optimizer_);
    run_.keep("schedule", schedule_);
    run_.keep("data", loader_);
    run_.keep("gate", gate_);
    const int rank = std::stoi(own_rank());
    if (!fs::exists(saved_) || (options_["loads"] != -1 && options_["loads"] != rank)) return;
    run_.load_state_dict(load_safetensors(saved_));
    if (options_["strays"] == rank) {
      const torch::NoGradGuard no_grad;
      model_->parameters().front() += 1;
    }
  }

  void run() {
    const std::int64_t step = options_["slow"][0];
    if (step > 0 && attempt() > 0) wait_for_step(folder_ / "used.0", step);
    ProcessGroupOptions options;
    options.backend = device_.is_cpu() ? "gloo" : "nccl";
    options.device = device_;
    options.timeout = std::chrono::seconds{120};
    if (options_["enters_late"] == std::stoi(own_rank())) gate_.close(own_rank());
    run_.worlds([this](World& world) { train(world); }, options);
    save_safetensors(folder_ / ("end." + own_rank() + ".safetensors"), run_.state_dict());
  }

 private:
  static std::string own_rank() {
    const char* const rank = std::getenv("RANK");
    return rank == nullptr ? "0" : rank;
  }

  void train(World& world) {
    const std::string rank = std::to_string(world.rank());
    note_open(folder_ / ("open." + rank));
    begun_ = run_.step();
    std::ofstream used{folder_ / ("used." + rank), std::ios::app};
    auto ddp = world.wrap(model_);
    std::vector<std::int64_t> indices;
    double told = Heartbeat::kNoLoss;
    while (run_.step() < options_["steps"]) {
      const Batch batch = world.next(loader_);
      indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
      const auto guard = ddp.no_sync(!world.is_last_part());
      try {
        take_time(world);
        const auto loss = torch::nn::functional::cross_entropy(
            ddp.forward(batch.inputs.to(device_)), batch.labels.to(device_));
        told = loss.item<double>();
        reach("before backward", world);
        (loss / world.parts()).backward();
      } catch (const std::exception&) {
        if (!options_["catches"].get<bool>()) throw;
      }
      if (!world.is_last_part()) continue;
      reach("behind backward", world);
      world.update(
          [&] {
            optimizer_.step();
            reach("within the update", world);
            ddp.zero_grad();
            schedule_.step();
          },
          told);
      reach("behind the update", world);
      used << json{run_.step(), std::exchange(indices, {})} << std::endl;
      if (run_.step() % options_["save_every"].get<std::int64_t>() == 0 && world.rank() == 0)
        save_safetensors(saved_, run_.state_dict());
    }
  }

  void reach(const std::string& where, const World& world) const {
    if (waits_at(where, world)) {
      if (where == "before backward") wait_for_notes(world);
      wait_until_released(folder_, std::to_string(world.rank()));
    }
    const json& dies = options_["dies"];
    if (json(where) != options_["where"] || attempt() >= dies.size() ||
        dies[attempt()] != json{world.rank(), run_.step()})
      return;
    wait_for_notes(world);
    if (options_["how"] == "error") throw std::runtime_error{"an error of the program's own"};
    kill(getpid(), kSignals.at(options_["how"]));
  }

  bool waits_at(const std::string& where, const World& world) const {
    const json& waits = options_["waits"];
    return std::ranges::count(waits[0], json(world.rank())) > 0 && waits[1] == run_.step() &&
           waits[2] == where;
  }

  /// Until the others have noted the last step, too. A slow one could still drop it, and take it
  /// from another.
  void wait_for_notes(const World& world) const {
    if (run_.step() == begun_) return;
    for (int rank = 0; rank < world.size(); ++rank)
      if (rank != world.rank())
        wait_for_step(folder_ / ("used." + std::to_string(rank)), run_.step());
  }

  static std::size_t attempt() {
    const char* const count = std::getenv("TORCHELASTIC_RESTART_COUNT");
    return static_cast<std::size_t>(count == nullptr ? 0 : std::stoi(count));
  }

  static void wait_for_step(const fs::path& file, std::int64_t step) {
    const std::string begin = "[" + std::to_string(step) + ",";
    for (bool found = false; !found;) {
      std::ifstream lines{file};
      for (std::string line; !found && std::getline(lines, line);) found = line.starts_with(begin);
      if (!found) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
  }

  void take_time(const World& world) const {
    const json& slow = options_["slow"];
    if (run_.step() >= slow[0] && world.size() < slow[1])
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }

  /// Writes down how many descriptors and threads this process has in which round.
  static void note_open(const fs::path& file) {
    const auto count = [](const char* folder) {
      return std::distance(fs::directory_iterator{folder}, fs::directory_iterator{});
    };
    const char* const round = std::getenv("DDPRUN_ROUND");
    std::ofstream{file, std::ios::app}
        << json{getpid(), count("/proc/self/fd"), count("/proc/self/task"), round ? round : ""}
        << std::endl;
  }

  fs::path folder_;
  json options_;
  torch::Device device_{options_["device"].get<std::string>()};
  fs::path saved_ = folder_ / "run.safetensors";
  torch::nn::Sequential model_ = [] {
    torch::manual_seed(0);
    return torch::nn::Sequential{torch::nn::Linear(8, 16), torch::nn::BatchNorm1d(16),
                                 torch::nn::Dropout(0.2), torch::nn::ReLU(),
                                 torch::nn::Linear(16, 3)};
  }();
  torch::optim::AdamW optimizer_{model_->parameters(), torch::optim::AdamWOptions{1e-2}};
  LRScheduler schedule_{optimizer_, StepLR{.step_size = 5, .gamma = 0.5}};
  ElasticLoader<Batch> loader_{kSamples,
                               fetch,
                               {.global_batch = options_["global_batch"],
                                .micro_batch = options_["micro_batch"],
                                .seed = 7,
                                .workers = options_["workers"]}};
  Gate gate_{folder_};
  std::int64_t begun_ = 0;  // the step with which this world began
  ElasticRun run_{
      {.seed = 3, .resize = options_["resize"], .steps = options_["steps"].get<std::int64_t>()}};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: elastic_worker FOLDER OPTIONS" << std::endl;
    return 2;
  }
  setenv("DDPRUN_CHECK_STATE", "1", 0);
  return run_worker([&] {
    torch::set_num_threads(1);
    Training{argv[1], options_with(json::parse(argv[2]))}.run();
  });
}
