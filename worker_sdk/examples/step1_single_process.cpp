// Step 1: a training in one process, as LibTorch users know it.

#include <ddprun/run_worker.hpp>

#include "toy.hpp"

namespace {

void train() {
  const toy::Batch data = toy::make_data();
  auto model = std::make_shared<toy::Model>();
  torch::optim::SGD optimizer{model->parameters(), toy::kLearningRate};
  ddprun::sdk::DistributedSampler sampler{toy::kRows, /*world_size=*/1, /*rank=*/0};

  for (int epoch = 0; epoch < toy::kEpochs; ++epoch) {
    sampler.set_epoch(epoch);  // another order in every epoch
    double loss_sum = 0;
    for (const toy::Batch& batch : toy::batches(data, sampler, /*workers=*/1)) {
      optimizer.zero_grad();
      const auto loss = toy::loss_of(model->forward(batch.inputs), batch.targets);
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>();
    }
    toy::report(epoch, loss_sum);
  }
}

}  // namespace

int main() { return ddprun::sdk::run_worker(train); }
