// Trains a network of one of three sizes for some steps and says, as JSON on the standard output of
// rank 0, the losses and how long each step took. ddp_steps.py is the same in Python: the tests
// compare the losses, scripts/bench the times.

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/mixed_precision.hpp"
#include "ddprun/sync_batch_norm.hpp"

namespace {

using namespace ddprun::sdk;
using Clock = std::chrono::steady_clock;
using torch::nn::SequentialImpl;

struct Arguments {
  std::string model = "small";
  std::string optimizer = "sgd";
  std::string backend;
  std::string autocast = "none";
  DdpOptions ddp{.gradient_as_bucket_view = true};  // as ddp_steps.py has it
  std::string device;                               // the group's, if not given
  bool sync_batch_norm = false;
  int steps = 20;
  int warm_up = 5;  // steps whose times are not told
};

/// Sizes of the layers, from the pixels to the ten classes: 50,826, 2,634,762 and 21,020,682
/// parameters.
const std::map<std::string, std::vector<std::int64_t>> kModels = {
    {"small", {64, 256, 128, 10}},
    {"medium", {512, 1024, 1024, 1024, 10}},
    {"large", {1024, 4096, 4096, 10}}};
constexpr std::int64_t kRows = 16;  // in each worker's batch

std::shared_ptr<SequentialImpl> make_model(const Arguments& arguments, const ProcessGroup& group) {
  const auto& sizes = kModels.at(arguments.model);
  torch::manual_seed(0);
  auto model = std::make_shared<SequentialImpl>();
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (i > 0 && arguments.sync_batch_norm) model->push_back(SyncBatchNorm(sizes[i], group));
    if (i > 0) model->push_back(torch::nn::ReLU());
    model->push_back(torch::nn::Linear(sizes[i], sizes[i + 1]));
  }
  return model;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        std::vector<torch::Tensor> parameters) {
  if (name == "adam")
    return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                torch::optim::AdamOptions(1e-3));
  return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                             torch::optim::SGDOptions(0.05).momentum(0.9));
}

struct Batch {
  torch::Tensor images;
  torch::Tensor labels;
};

/// This rank's part of each step's batch.
std::vector<Batch> make_batches(std::int64_t pixels, int steps, const ProcessGroup& group,
                                torch::Device device) {
  std::vector<Batch> batches;
  for (int step = 0; step < steps; ++step) {
    torch::manual_seed(1000 + step);
    const auto images = torch::randn({kRows * group.size(), pixels});
    const auto labels = torch::randint(10, {kRows * group.size()}, torch::kInt64);
    batches.push_back({images.narrow(0, kRows * group.rank(), kRows).to(device),
                       labels.narrow(0, kRows * group.rank(), kRows).to(device)});
  }
  return batches;
}

struct Results {
  std::vector<torch::Tensor> losses;
  std::vector<double> step_ms;
};

Results train(const Arguments& arguments, const ProcessGroup& group, torch::Device device) {
  auto model = make_model(arguments, group);
  model->to(device);
  DistributedDataParallel<SequentialImpl> ddp{model, group, arguments.ddp};
  const auto optimizer = make_optimizer(arguments.optimizer, model->parameters());
  const bool half = arguments.autocast == "float16";
  GradScaler scaler{{.init_scale = 1024, .enabled = half}};
  const auto batches =
      make_batches(kModels.at(arguments.model).front(), arguments.steps, group, device);
  group.barrier();
  Results results;
  for (const Batch& batch : batches) {
    const auto start = Clock::now();
    ddp.zero_grad();
    torch::Tensor loss;
    {
      const Autocast autocast{device.type(), half ? torch::kFloat16 : torch::kBFloat16,
                              arguments.autocast != "none"};
      loss = torch::nn::functional::cross_entropy(ddp.forward(batch.images), batch.labels);
    }
    scaler.scale(loss).backward();
    scaler.step(*optimizer);
    scaler.update();
    if (device.is_cuda()) torch::cuda::synchronize(device.index());
    results.step_ms.push_back(
        std::chrono::duration<double, std::milli>{Clock::now() - start}.count());
    results.losses.push_back(loss.detach().to(torch::kFloat64));
  }
  return results;
}

void report(const Arguments& arguments, const ProcessGroup& group, torch::Device device,
            Results results) {
  torch::Tensor losses = torch::stack(results.losses).to(group.device());
  group.all_reduce(losses);
  if (group.rank() != 0) return;
  losses = losses.cpu() / group.size();
  const auto* values = losses.const_data_ptr<double>();
  results.step_ms.erase(results.step_ms.begin(), results.step_ms.begin() + arguments.warm_up);
  std::cout << nlohmann::json{{"losses", std::vector<double>(values, values + losses.numel())},
                              {"step_ms", results.step_ms},
                              {"device", device.str()},
                              {"backend", group.backend()}}
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments;
  CLI::App app{"Trains for some steps; tells losses and times."};
  app.add_option("--model", arguments.model)->check(CLI::IsMember(kModels));
  app.add_option("--optimizer", arguments.optimizer)->check(CLI::IsMember({"sgd", "adam"}));
  app.add_option("--backend", arguments.backend)->check(CLI::IsMember({"gloo", "nccl"}));
  app.add_option("--device", arguments.device, "cuda:0 or the like; the backend's if not given");
  app.add_option("--autocast", arguments.autocast)
      ->check(CLI::IsMember({"none", "bfloat16", "float16"}));
  app.add_option("--hook", arguments.ddp.comm_hook)
      ->transform(
          CLI::Transformer{std::map<std::string, CommHook>{{"fp16", CommHook::kFp16Compress},
                                                           {"bf16", CommHook::kBf16Compress},
                                                           {"powersgd", CommHook::kPowerSgd}}});
  app.add_option("--power-sgd-rank", arguments.ddp.power_sgd.matrix_approximation_rank);
  bool forgetful = false;
  app.add_flag("--power-sgd-forgetful", forgetful, "neither error feedback nor warm start");
  app.add_flag("--sync-batch-norm", arguments.sync_batch_norm);
  app.add_option("--steps", arguments.steps)->check(CLI::PositiveNumber);
  app.add_option("--warm-up", arguments.warm_up)->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  arguments.ddp.power_sgd.start_powerSGD_iter = 3;
  arguments.ddp.power_sgd.use_error_feedback = arguments.ddp.power_sgd.warm_start = !forgetful;
  if (arguments.warm_up > arguments.steps) throw std::invalid_argument{"--warm-up above --steps"};

  torch::set_num_threads(1);
  const ProcessGroup group = init_process_group({.backend = arguments.backend});
  const torch::Device device =
      arguments.device.empty() ? group.device() : torch::Device{arguments.device};
  report(arguments, group, device, train(arguments, group, device));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "ddp_steps: " << error.what() << std::endl;
  return 1;
}
