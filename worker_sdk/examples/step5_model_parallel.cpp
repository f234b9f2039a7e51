// Step 5: a model that is too big for one device. With DDP around it, each worker has it on two
// devices; as a pipeline, each worker has one stage of it, and both work at once on parts of the
// batch.
//
//     step5_model_parallel devices|pipeline

#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/pipeline.hpp>
#include <ddprun/run_worker.hpp>
#include <ddprun/spawn.hpp>
#include <iostream>
#include <string>

#include "toy.hpp"

namespace {

using namespace ddprun::sdk;

/// toy::Model with its layers on two devices.
struct TwoDeviceModel : toy::Model {
  TwoDeviceModel(torch::Device first_device, torch::Device second_device)
      : second_device_{second_device} {
    first->to(first_device);
    second->to(second_device);
  }
  torch::Tensor forward(torch::Tensor x) {
    return second(torch::relu(first(x)).to(second_device_));
  }

 private:
  torch::Device second_device_;
};

/// Two GPUs for every worker if there are enough, else the CPU twice.
torch::Device device(int worker, int part) {
  if (static_cast<int>(torch::cuda::device_count()) < 2 * toy::kWorkers) return torch::kCPU;
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(2 * worker + part)};
}

void train_on_two_devices(int rank) {
  torch::set_num_threads(1);
  const ProcessGroup group = init_process_group({.backend = "gloo"});
  const toy::Batch data = toy::make_data();
  auto model = std::make_shared<TwoDeviceModel>(device(rank, 0), device(rank, 1));
  DistributedDataParallel<TwoDeviceModel> ddp{model, group};
  torch::optim::SGD optimizer{model->parameters(), toy::kLearningRate};
  DistributedSampler sampler{toy::kRows, group.size(), group.rank()};

  for (int epoch = 0; epoch < toy::kEpochs; ++epoch) {
    sampler.set_epoch(epoch);
    torch::Tensor loss_sum = torch::zeros({1});
    for (const toy::Batch& batch : toy::batches(data, sampler, group.size())) {
      optimizer.zero_grad();
      const auto outputs = ddp.forward(batch.inputs.to(device(rank, 0)));
      const auto loss = toy::loss_of(outputs, batch.targets.to(outputs.device()));
      loss.backward();
      optimizer.step();
      loss_sum += loss.detach().cpu();
    }
    group.all_reduce(loss_sum);
    if (rank == 0) toy::report(epoch, loss_sum.item<double>() / group.size());
  }
}

void train_pipeline(int rank) {
  torch::set_num_threads(1);
  const ProcessGroup group = init_process_group();
  const toy::Batch data = toy::make_data();
  toy::Model whole;  // each keeps its part of it
  torch::nn::Sequential stage = rank == 0 ? torch::nn::Sequential{whole.first, torch::nn::ReLU()}
                                          : torch::nn::Sequential{whole.second};
  stage->to(group.device());
  torch::optim::SGD optimizer{stage->parameters(), toy::kLearningRate};
  Pipeline pipeline{*stage, group, {.micro_batches = 4}};
  // Both stages work on the same batches: one worker, as far as the data are concerned.
  DistributedSampler sampler{toy::kRows, /*world_size=*/1, /*rank=*/0};

  for (int epoch = 0; epoch < toy::kEpochs; ++epoch) {
    sampler.set_epoch(epoch);
    double loss_sum = 0;
    for (const toy::Batch& batch : toy::batches(data, sampler, 1, group.device())) {
      optimizer.zero_grad();
      const auto loss = pipeline.step(batch.inputs, batch.targets, toy::loss_of);
      optimizer.step();
      if (pipeline.is_last()) loss_sum += loss.item<double>();
    }
    if (pipeline.is_last()) toy::report(epoch, loss_sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc == 2 ? argv[1] : "";
  if (way != "devices" && way != "pipeline") {
    std::cerr << "usage: step5_model_parallel devices|pipeline" << std::endl;
    return 2;
  }
  return run_worker(
      [&] { spawn(way == "devices" ? train_on_two_devices : train_pipeline, toy::kWorkers); });
}
