// Trains a GPT of nanoGPT's shape (https://github.com/karpathy/nanoGPT) with DDP. Any text is a
// file of tokens, one a byte:
//
//     ddprun --standalone --nproc-per-node 2 --max-restarts 3 --no-python gpt --data book.txt
//
// GPT-2 124M, on files of 16-bit tokens as nanoGPT's prepare.py writes them:
//
//     gpt --data train.bin --token-bytes 2 --vocab-size 50304 --layers 12 --heads 12 --width 768
//         --context 1024 --batch-size 12 --accumulate 5 --lr 6e-4 --min-lr 6e-5 --bf16
//
// Started again after a failure it goes on from the newest checkpoint of --checkpoint-dir, and ends
// with the same weights, bit by bit. gpt.py is the same in Python, with the same losses.

#include "gpt.hpp"

#include <torch/torch.h>

#include <CLI/CLI.hpp>
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
using gpt::GPT;
using torch::Tensor;
namespace fs = std::filesystem;

struct Arguments {
  std::vector<fs::path> data;
  fs::path checkpoint_dir;
  MetricsOptions metrics;
  gpt::ModelOptions model;
  int token_bytes = 1;
  std::int64_t batch_size = 12;  // for each worker
  std::int64_t accumulate = 1;   // batches a step
  std::int64_t steps = 2000, warm_up = 100, checkpoint_every = 500, log_every = 10;
  double lr = 1e-3, min_lr = 1e-4, weight_decay = 0.1, clip = 1;
  double peak_tflops = 0;  // one device's; 0: unknown
  bool bf16 = false;
  bool zero = false;  // the optimizer's state is spread over the workers
};

EpochLoader<TokenBatch> make_loader(const Arguments& a, const ProcessGroup& group) {
  const auto dtype = a.token_bytes == 1 ? torch::kUInt8 : torch::kUInt16;
  const TokenFiles tokens{a.data, {a.model.context, dtype}};
  return make_epoch_loader(tokens,
                           {tokens.size(), group.size(), group.rank(), {.seed = a.model.seed}},
                           {.batch_size = a.batch_size, .drop_last = true, .pin_memory = true});
}

FusedAdamW make_optimizer(const Arguments& a, const GPT& model) {
  std::vector<Tensor> matrices, others;
  for (const Tensor& parameter : model.parameters())
    (parameter.dim() >= 2 ? matrices : others).push_back(parameter);
  const auto options = torch::optim::AdamWOptions{a.lr}.betas({0.9, 0.95});
  const auto with_decay = [&](const std::vector<Tensor>& group, double decay) {
    auto own = std::make_unique<torch::optim::AdamWOptions>(options);
    own->weight_decay(decay);
    return torch::optim::OptimizerParamGroup{group, std::move(own)};
  };
  return FusedAdamW{{with_decay(matrices, a.weight_decay), with_decay(others, 0)}, options};
}

Schedule make_schedule(const Arguments& a) {
  const LinearLR warm_up{1 / static_cast<double>(a.warm_up + 1), 1, a.warm_up};
  const CosineAnnealingLR decay{std::max<std::int64_t>(1, a.steps - a.warm_up), a.min_lr};
  return SequentialLR{{warm_up, decay}, {a.warm_up}};
}

class Training {
 public:
  Training(const Arguments& a, const ProcessGroup& group) : a_{a}, group_{group} {
    model_->to(group.device());
    ddp_.emplace(model_, group);
    optimizer_.emplace(make_optimizer(a, *model_));
    scheduler_.emplace(*optimizer_, make_schedule(a));
    if (a.zero) zero_.emplace(*optimizer_, group);
    torch::manual_seed(a.model.seed + group.rank());  // for dropout
  }

  void run() {
    std::int64_t step = resume();
    start_ = std::chrono::steady_clock::now();
    while (++step <= a_.steps) {
      const Tensor loss = backward();
      const Tensor norm = clip_grad_norm_(model_->parameters(), a_.clip);
      const double lr = scheduler_->get_last_lr().front();
      zero_ ? zero_->step() : void(optimizer_->step());
      scheduler_->step();
      optimizer_->zero_grad();
      const bool saves = checkpointer_ && step % a_.checkpoint_every == 0;
      if (saves && zero_) zero_->consolidate();
      if (saves) checkpointer_->save(*model_, *optimizer_, {.step = step});
      if (step % a_.log_every == 0) report(step, loss, lr, norm);
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
      const TokenBatch batch = next_batch(batches_);
      const auto guard = ddp_->no_sync(part < a_.accumulate);
      Tensor loss;
      {
        const Autocast autocast{group_.device().type(), torch::kBFloat16, a_.bf16};
        loss = ddp_->forward(batch.inputs, batch.targets);
        loss = loss / a_.accumulate;
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
    const std::int64_t windows = a_.log_every * a_.accumulate * a_.batch_size;
    const double tokens = static_cast<double>(windows * a_.model.context) / took.count();
    const double tflops = tokens * gpt::flops_per_token(a_.model, *model_) / 1e12;
    metrics_.log(step,
                 {{"loss", mean},
                  {"lr", lr},
                  {"grad_norm", norm.item<float>()},
                  {"tokens_per_second", tokens * group_.size()},
                  {"tflops_per_device", tflops}},
                 windows);
    if (group_.rank() != 0) return;
    std::printf("step %ld/%ld loss %.4f %.0f tokens/s", step, a_.steps, mean,
                tokens * group_.size());
    if (a_.peak_tflops > 0) std::printf(" %.1f %% of the peak", 100 * tflops / a_.peak_tflops);
    std::printf("\n");
    std::fflush(stdout);
  }

  const Arguments& a_;
  const ProcessGroup& group_;
  std::shared_ptr<GPT> model_ = std::make_shared<GPT>(a_.model);
  std::optional<DistributedDataParallel<GPT>> ddp_;
  std::optional<FusedAdamW> optimizer_;
  std::optional<ZeroRedundancyOptimizer> zero_;
  std::optional<LRScheduler> scheduler_;
  EpochLoader<TokenBatch> loader_{make_loader(a_, group_)};
  DevicePrefetcher<EpochLoader<TokenBatch>> batches_{loader_, group_.device()};
  std::optional<Checkpointer> checkpointer_;
  MetricsLog metrics_{group_.rank() == 0 ? a_.metrics : MetricsOptions{}};
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app{"Trains a GPT; start it with ddprun."};
  app.add_option("--data", a.data, "files of tokens")->required();
  app.add_option("--checkpoint-dir", a.checkpoint_dir);
  app.add_option("--metrics", a.metrics.json_lines, "file for JSON lines");
  app.add_option("--tensorboard", a.metrics.tensorboard, "folder for TensorBoard");
  app.add_option("--token-bytes", a.token_bytes)->check(CLI::IsMember({1, 2}));
  app.add_option("--dropout", a.model.dropout)->check(CLI::Range(0.0, 0.99));
  app.add_option("--weight-decay", a.weight_decay)->check(CLI::NonNegativeNumber);
  app.add_flag("--bf16", a.bf16);
  app.add_flag("--zero", a.zero);
  app.add_flag("--checkpoint-activations", a.model.checkpoint);
  app.add_option("--seed", a.model.seed);
  for (auto& [name, count] : std::vector<std::pair<const char*, std::int64_t*>>{
           {"--vocab-size", &a.model.vocab_size},
           {"--layers", &a.model.layers},
           {"--heads", &a.model.heads},
           {"--width", &a.model.width},
           {"--context", &a.model.context},
           {"--batch-size", &a.batch_size},
           {"--accumulate", &a.accumulate},
           {"--steps", &a.steps},
           {"--warm-up", &a.warm_up},
           {"--checkpoint-every", &a.checkpoint_every},
           {"--log-every", &a.log_every}})
    app.add_option(name, *count)->check(CLI::PositiveNumber)->capture_default_str();
  for (auto& [name, number] :
       std::vector<std::pair<const char*, double*>>{{"--lr", &a.lr},
                                                    {"--min-lr", &a.min_lr},
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
