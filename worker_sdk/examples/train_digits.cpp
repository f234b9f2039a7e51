// Trains a small network on the handwritten digits with DDP, with a checkpoint after every epoch:
//
//     ddprun --standalone --nproc-per-node 2 --max-restarts 3 --no-python train_digits
//         --data digits.csv.gz --checkpoint-dir checkpoints
//
// Started again after a failure, it goes on where the newest checkpoint was written, and ends with
// the same weights, bit by bit, as if nothing had happened. train_digits.py is the same in Python.

#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ddprun/checkpoint_request.hpp>
#include <ddprun/checkpointer.hpp>
#include <ddprun/digits.hpp>
#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/distributed_sampler.hpp>
#include <ddprun/heartbeat.hpp>
#include <ddprun/process_group.hpp>
#include <ddprun/progress_bar.hpp>
#include <ddprun/run_worker.hpp>
#include <ddprun/safetensors.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

namespace {

using namespace ddprun::sdk;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::filesystem::path data;
  std::filesystem::path checkpoint_dir;
  std::filesystem::path final_state;  // where the trained weights go, if anywhere
  std::string backend;
  int epochs = 30;
  int batch_size = 8;  // for each worker
  double learning_rate = 1e-3;
  std::uint64_t seed = 0;
};

struct Network : torch::nn::Module {
  Network() {
    hidden = register_module("hidden", torch::nn::Linear(64, 256));
    middle = register_module("middle", torch::nn::Linear(256, 128));
    output = register_module("output", torch::nn::Linear(128, 10));
  }
  torch::Tensor forward(torch::Tensor x) {
    return output(torch::relu(middle(torch::relu(hidden(x)))));
  }
  torch::nn::Linear hidden{nullptr}, middle{nullptr}, output{nullptr};
};

struct EpochResult {
  double loss;  // mean over this rank's batches
  double images_per_second;
};

class Training {
 public:
  Training(const Arguments& arguments, const ProcessGroup& group)
      : arguments_{arguments},
        group_{group},
        data_{load_digits(arguments.data)},
        network_{make_network(arguments.seed, group.device())},
        ddp_{network_, group},
        optimizer_{network_->parameters(), torch::optim::AdamOptions(arguments.learning_rate)},
        sampler_{data_.train.size(), group.size(), group.rank(), {.seed = arguments.seed}},
        checkpointer_{arguments.checkpoint_dir, group} {}

  void run() {
    int epoch = resume();
    const int first = epoch;
    const auto start = Clock::now();
    for (; epoch < arguments_.epochs; ++epoch) {
      const EpochResult result = train_epoch(epoch);
      checkpointer_.save(*network_, optimizer_, {.step = epoch + 1, .epoch = epoch + 1});
      report(epoch + 1, epoch + 1 - first, result, Clock::now() - start);
      if (told_to_end()) return checkpointer_.wait();
    }
    group_.barrier();
    if (group_.rank() != 0) return;
    std::printf("final test accuracy %.1f %%\n", 100 * test_accuracy());
    if (!arguments_.final_state.empty()) save_final_state();
  }

 private:
  static std::shared_ptr<Network> make_network(std::uint64_t seed, torch::Device device) {
    torch::manual_seed(seed);
    auto network = std::make_shared<Network>();
    network->to(device);
    return network;
  }

  /// The epoch to begin with.
  int resume() {
    const auto progress = checkpointer_.load_latest(*network_, optimizer_);
    if (!progress) return 0;
    if (group_.rank() == 0)
      std::printf("resumed at epoch %d from %s (attempt %d)\n", static_cast<int>(progress->step),
                  checkpointer_.path_of(progress->step).c_str(), group_.env().restart_count);
    return static_cast<int>(progress->step);
  }

  EpochResult train_epoch(int epoch) {
    const auto start = Clock::now();
    sampler_.set_epoch(epoch);
    const auto order = torch::tensor(sampler_.indices(), torch::kInt64);
    const auto batches = order.split(arguments_.batch_size);
    const auto total = static_cast<std::int64_t>(batches.size());
    // Elsewhere the line after each epoch is enough.
    ProgressBar bar{"epoch " + std::to_string(epoch + 1),
                    total,
                    {.shown = group_.rank() == 0 && isatty(STDOUT_FILENO) == 1}};
    double loss_sum = 0;
    std::int64_t steps = 0;
    for (const torch::Tensor& batch : batches) {
      const LabelledImages images = data_.train.select(batch);
      optimizer_.zero_grad();
      auto loss = torch::nn::functional::cross_entropy(
          ddp_.forward(images.images.to(group_.device())), images.labels.to(group_.device()));
      loss.backward();
      optimizer_.step();
      const double value = loss.item<double>();
      loss_sum += value;
      bar.update(++steps, {{"loss", value}});
      heartbeat_.beat(epoch * total + steps, batch.size(0), value);
    }
    bar.finish();
    const std::chrono::duration<double> took = Clock::now() - start;
    const auto images = static_cast<double>(order.size(0) * group_.size());
    return {loss_sum / static_cast<double>(steps), images / took.count()};
  }

  /// The scheduler wants the node; all ranks answer the same.
  bool told_to_end() {
    auto asked = torch::tensor({request_.requested() ? 1 : 0}, group_.device());
    group_.all_reduce(asked, c10d::ReduceOp{c10d::ReduceOp::MAX});
    return asked.item<int>() != 0;
  }

  double test_accuracy() {
    torch::NoGradGuard no_grad;
    const auto guess = network_->forward(data_.test.images.to(group_.device())).argmax(1).cpu();
    return guess.eq(data_.test.labels).to(torch::kFloat64).mean().item<double>();
  }

  void report(int epoch, int done, const EpochResult& result, Clock::duration took) {
    if (group_.rank() != 0) return;
    const auto left =
        std::chrono::duration<double>{took}.count() / done * (arguments_.epochs - epoch);
    std::printf("epoch %d/%d loss %.4f accuracy %.1f %% %.0f images/s %d:%02d left\n", epoch,
                arguments_.epochs, result.loss, 100 * test_accuracy(), result.images_per_second,
                static_cast<int>(left) / 60, static_cast<int>(left) % 60);
    std::fflush(stdout);
  }

  void save_final_state() const {
    SafeTensors weights;
    for (const auto& parameter : network_->named_parameters())
      weights.tensors[parameter.key()] = parameter.value();
    save_safetensors(arguments_.final_state, weights);
  }

  const Arguments& arguments_;
  const ProcessGroup& group_;
  CheckpointRequest request_;
  Heartbeat heartbeat_;
  Digits data_;
  std::shared_ptr<Network> network_;
  DistributedDataParallel<Network> ddp_;
  torch::optim::Adam optimizer_;
  DistributedSampler sampler_;
  Checkpointer checkpointer_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Trains a network on the handwritten digits; start it with ddprun."};
  app.add_option("--data", arguments.data, "digits.csv.gz")->required();
  app.add_option("--checkpoint-dir", arguments.checkpoint_dir)->required();
  app.add_option("--final-state", arguments.final_state,
                 "safetensors file for the trained weights");
  app.add_option("--backend", arguments.backend, "nccl or gloo; chosen by the device if not given");
  app.add_option("--epochs", arguments.epochs)->capture_default_str();
  app.add_option("--batch-size", arguments.batch_size, "of each worker")->capture_default_str();
  app.add_option("--lr", arguments.learning_rate)->capture_default_str();
  app.add_option("--seed", arguments.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  return run_worker([&] {
    torch::set_num_threads(1);  // the network is small, and the order of sums must not vary
    const ProcessGroup group = init_process_group({.backend = arguments.backend});
    Training{arguments, group}.run();
  });
}
