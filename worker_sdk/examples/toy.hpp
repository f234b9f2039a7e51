// What the steps of the tutorial train: a small network on made-up data, the same in every step, so
// that every step ends with the same loss.
#pragma once

#include <torch/torch.h>

#include <cstdio>
#include <ddprun/distributed_sampler.hpp>
#include <vector>

namespace toy {

constexpr std::int64_t kRows = 256;
constexpr std::int64_t kBatchRows = 32;  // all workers together
constexpr int kEpochs = 4;
constexpr double kLearningRate = 0.5;
constexpr int kWorkers = 2;

struct Batch {
  torch::Tensor inputs;   // [rows, 10] float32
  torch::Tensor targets;  // [rows, 5] float32
};

inline Batch make_data() {
  torch::manual_seed(1);
  const auto inputs = torch::randn({kRows, 10});
  return {inputs, torch::tanh(inputs.matmul(torch::randn({10, 5})))};
}

/// This worker's part of every batch of an epoch.
inline std::vector<Batch> batches(const Batch& data, const ddprun::sdk::DistributedSampler& sampler,
                                  int workers, torch::Device device = torch::kCPU) {
  std::vector<Batch> result;
  for (const auto& rows : torch::tensor(sampler.indices()).split(kBatchRows / workers))
    result.push_back({data.inputs.index_select(0, rows).to(device),
                      data.targets.index_select(0, rows).to(device)});
  return result;
}

struct Model : torch::nn::Module {
  Model() {
    torch::manual_seed(2);
    first = register_module("first", torch::nn::Linear(10, 32));
    second = register_module("second", torch::nn::Linear(32, 5));
  }
  torch::Tensor forward(torch::Tensor x) { return second(torch::relu(first(x))); }
  torch::nn::Linear first{nullptr}, second{nullptr};
};

inline torch::Tensor loss_of(const torch::Tensor& outputs, const torch::Tensor& targets) {
  return torch::mse_loss(outputs, targets);
}

/// `loss_sum`: over the epoch's batches, each the mean over the batch.
inline void report(int epoch, double loss_sum) {
  std::printf("epoch %d loss %.5f\n", epoch + 1, loss_sum / (kRows / kBatchRows));
  std::fflush(stdout);
}

}  // namespace toy
