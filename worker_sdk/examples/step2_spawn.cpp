// Step 2: two workers, which average their gradients by hand. Each sees half of every batch.

#include <ddprun/process_group.hpp>
#include <ddprun/run_worker.hpp>
#include <ddprun/spawn.hpp>

#include "toy.hpp"

namespace {

using namespace ddprun::sdk;

void train(int rank) {
  torch::set_num_threads(1);  // the workers share this machine's cores
  const ProcessGroup group = init_process_group();
  const toy::Batch data = toy::make_data();
  auto model = std::make_shared<toy::Model>();  // the same seed on all ranks: the same weights
  model->to(group.device());
  torch::optim::SGD optimizer{model->parameters(), toy::kLearningRate};
  DistributedSampler sampler{toy::kRows, group.size(), group.rank()};

  for (int epoch = 0; epoch < toy::kEpochs; ++epoch) {
    sampler.set_epoch(epoch);
    torch::Tensor loss_sum = torch::zeros({1}, group.device());
    for (const toy::Batch& batch : toy::batches(data, sampler, group.size(), group.device())) {
      optimizer.zero_grad();
      const auto loss = toy::loss_of(model->forward(batch.inputs), batch.targets);
      loss.backward();
      for (const torch::Tensor& parameter : model->parameters()) {
        group.all_reduce(parameter.grad());
        parameter.grad().div_(group.size());
      }
      optimizer.step();
      loss_sum += loss.detach();
    }
    group.all_reduce(loss_sum);
    if (rank == 0) toy::report(epoch, loss_sum.item<double>() / group.size());
  }
}

}  // namespace

int main() {
  return run_worker([] { spawn(train, toy::kWorkers); });
}
