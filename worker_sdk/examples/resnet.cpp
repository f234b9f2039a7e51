// Trains a ResNet-18 on CIFAR-10 with DDP; --data is the folder of its binary version, which has
// data_batch_1.bin to data_batch_5.bin and test_batch.bin:
//
//     ddprun --standalone --nproc-per-node gpu --max-restarts 3 --no-python resnet
//         --data cifar-10-batches-bin --checkpoint-dir checkpoints --bf16
//
// Without these files, --synthetic 5000 makes that many images up.
// Started again after a failure it goes on from the newest checkpoint of --checkpoint-dir, with the
// same losses, bit by bit. resnet.py is the same in Python, with the same losses.

#include "resnet.hpp"

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ddprun/sdk.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace ddprun::sdk;
using resnet::ResNet18;
using torch::Tensor;

struct Arguments {
  std::filesystem::path data, checkpoint_dir;
  MetricsOptions metrics;
  std::int64_t synthetic = 0, width = 64;
  std::int64_t epochs = 30, checkpoint_every = 500, log_every = 10;
  std::int64_t batch_size = 128, accumulate = 1;  // images of each worker; batches a step
  std::int64_t seed = 1337;
  double lr = 0.2, weight_decay = 5e-4, clip = 5;
  double peak_tflops = 0;  // one device's; 0: unknown
  bool bf16 = false;
};

EpochLoader<LabelledImages> make_loader(const Arguments& a, const LabelledImages& data,
                                        const ProcessGroup& group) {
  const SamplerOptions options{.seed = static_cast<std::uint64_t>(a.seed)};
  return make_epoch_loader(data, {data.size(), group.size(), group.rank(), options},
                           {.batch_size = a.batch_size, .drop_last = true, .pin_memory = true});
}

class Training {
 public:
  Training(const Arguments& a, const ProcessGroup& group)
      : a_{a},
        group_{group},
        data_{resnet::load(a.data, a.synthetic, a.seed)},
        model_{std::make_shared<ResNet18>(a.width, a.seed)},
        loader_{make_loader(a, data_.train, group)},
        steps_an_epoch_{loader_.batches_per_epoch() / a.accumulate},
        steps_{a.epochs * steps_an_epoch_} {
    if (steps_an_epoch_ == 0)
      throw std::invalid_argument{"there are fewer images than one step takes"};
    model_->to(group.device());
    ddp_.emplace(model_, group);
    optimizer_.emplace(
        model_->parameters(),
        torch::optim::SGDOptions{a.lr}.momentum(0.9).nesterov(true).weight_decay(a.weight_decay));
    scheduler_.emplace(*optimizer_, OneCycleLR{.max_lr = {a.lr}, .total_steps = steps_});
    torch::manual_seed(a.seed + group.rank());  // for augment()
  }

  void run() {
    std::int64_t step = resume();
    start_ = std::chrono::steady_clock::now();
    while (++step <= steps_) {
      const Tensor loss = backward();
      const Tensor norm = clip_grad_norm_(model_->parameters(), a_.clip);
      const double lr = scheduler_->get_last_lr().front();
      optimizer_->step();
      scheduler_->step();
      optimizer_->zero_grad();
      if (checkpointer_ && step % a_.checkpoint_every == 0)
        checkpointer_->save(*model_, *optimizer_, {.step = step});
      if (step % a_.log_every == 0) report(step, loss, lr, norm);
      if (step % steps_an_epoch_ == 0) evaluate(step);
    }
  }

 private:
  /// How many steps are done.
  std::int64_t resume() {
    std::optional<Progress> progress;
    if (!a_.checkpoint_dir.empty()) {
      checkpointer_.emplace(a_.checkpoint_dir, group_);
      checkpointer_->keep("scheduler", *scheduler_);
      checkpointer_->keep("data", batches_);
      progress = checkpointer_->load_latest(*model_, *optimizer_);
    }
    metrics_.resume(progress ? progress->step : 0);
    return progress ? progress->step : 0;
  }

  /// Gradients of all batches of a step, and their mean loss on this rank, [1].
  Tensor backward() {
    Tensor total = torch::zeros({1}, group_.device());
    for (std::int64_t part = 1; part <= a_.accumulate; ++part) {
      const LabelledImages batch = next_batch(batches_);
      const Tensor images = resnet::normalize(resnet::augment(batch.images));
      const auto guard = ddp_->no_sync(part < a_.accumulate);
      Tensor loss;
      {
        const Autocast autocast{group_.device().type(), torch::kBFloat16, a_.bf16};
        loss = torch::nn::functional::cross_entropy(ddp_->forward(images), batch.labels) /
               a_.accumulate;
      }
      loss.backward();
      total += loss.detach();
    }
    return total;
  }

  void report(std::int64_t step, Tensor loss, double lr, const Tensor& norm) {
    group_.all_reduce(loss);
    const double mean = loss.item<double>() / group_.size();
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> took = now - std::exchange(start_, now);
    const std::int64_t images = a_.log_every * a_.accumulate * a_.batch_size;
    const double rate = static_cast<double>(images) / took.count();
    const double tflops = rate * resnet::flops_per_image(*model_) / 1e12;
    metrics_.log(step,
                 {{"loss", mean},
                  {"lr", lr},
                  {"grad_norm", norm.item<float>()},
                  {"images_per_second", rate * group_.size()},
                  {"tflops_per_device", tflops}},
                 images);
    if (group_.rank() != 0) return;
    std::printf("step %ld/%ld loss %.4f %.0f images/s", step, steps_, mean, rate * group_.size());
    if (a_.peak_tflops > 0) std::printf(" %.1f %% of the peak", 100 * tflops / a_.peak_tflops);
    std::printf("\n");
    std::fflush(stdout);
  }

  /// All ranks look at their shares of the test images.
  void evaluate(std::int64_t step) {
    const auto begin = std::chrono::steady_clock::now();
    const torch::NoGradGuard no_grad;
    model_->eval();
    Tensor right = torch::zeros({1}, group_.device());
    for (std::int64_t at = group_.rank() * 500; at < data_.test.size(); at += group_.size() * 500) {
      const Tensor images =
          resnet::normalize(data_.test.images.slice(0, at, at + 500).to(group_.device()));
      const Tensor labels = data_.test.labels.slice(0, at, at + 500).to(group_.device());
      right += model_->forward(images).argmax(1).eq(labels).sum();
    }
    model_->train();
    group_.all_reduce(right);
    const double accuracy = right.item<double>() / static_cast<double>(data_.test.size());
    if (group_.rank() == 0)
      std::printf("step %ld/%ld test accuracy %.2f %%\n", step, steps_, 100 * accuracy);
    start_ += std::chrono::steady_clock::now() - begin;  // is no time of training
  }

  const Arguments& a_;
  const ProcessGroup& group_;
  resnet::Data data_;
  std::shared_ptr<ResNet18> model_;
  EpochLoader<LabelledImages> loader_;
  DevicePrefetcher<EpochLoader<LabelledImages>> batches_{loader_, group_.device()};
  std::int64_t steps_an_epoch_, steps_;
  std::optional<DistributedDataParallel<ResNet18>> ddp_;
  std::optional<FusedSGD> optimizer_;
  std::optional<LRScheduler> scheduler_;
  std::optional<Checkpointer> checkpointer_;
  MetricsLog metrics_{group_.rank() == 0 ? a_.metrics : MetricsOptions{}};
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app{"Trains a ResNet-18; start it with ddprun."};
  app.add_option("--data", a.data, "folder of CIFAR-10's binary version");
  app.add_option("--checkpoint-dir", a.checkpoint_dir);
  app.add_option("--metrics", a.metrics.json_lines, "file for JSON lines");
  app.add_option("--tensorboard", a.metrics.tensorboard, "folder for TensorBoard");
  app.add_flag("--bf16", a.bf16);
  for (auto& [name, count] : std::vector<std::pair<const char*, std::int64_t*>>{
           {"--synthetic", &a.synthetic},
           {"--width", &a.width},
           {"--epochs", &a.epochs},
           {"--batch-size", &a.batch_size},
           {"--accumulate", &a.accumulate},
           {"--checkpoint-every", &a.checkpoint_every},
           {"--log-every", &a.log_every},
           {"--seed", &a.seed}})
    app.add_option(name, *count)->check(CLI::PositiveNumber)->capture_default_str();
  for (auto& [name, number] :
       std::vector<std::pair<const char*, double*>>{{"--lr", &a.lr},
                                                    {"--weight-decay", &a.weight_decay},
                                                    {"--clip", &a.clip},
                                                    {"--peak-tflops", &a.peak_tflops}})
    app.add_option(name, *number)->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return run_worker([&] {
    const ProcessGroup group = init_process_group();
    if (group.device().is_cpu()) torch::set_num_threads(1);
    Training{a, group}.run();
  });
}
