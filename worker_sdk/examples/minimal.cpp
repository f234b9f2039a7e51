// A whole training with DDP and nothing else. docs/sdk.md explains it.
#include <cstdio>
#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/epoch_loader.hpp>
#include <ddprun/heartbeat.hpp>
#include <ddprun/run_worker.hpp>

namespace sdk = ddprun::sdk;

struct Net : torch::nn::Module {
  torch::nn::Linear hidden = register_module("hidden", torch::nn::Linear(10, 32));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(32, 2));
  torch::Tensor forward(torch::Tensor x) { return output(torch::relu(hidden(x))); }
};

void train() {
  const sdk::ProcessGroup group = sdk::init_process_group();
  torch::manual_seed(1);  // so that all ranks make the same data
  const torch::Tensor x = torch::rand({1024, 10});
  const sdk::LabelledImages data{x, (x.sum(1) > 5).to(torch::kInt64)};

  const auto model = std::make_shared<Net>();
  model->to(group.device());  // cuda:LOCAL_RANK, or cpu
  sdk::DistributedDataParallel<Net> ddp{model, group};
  torch::optim::SGD optimizer{model->parameters(), 0.5};
  const sdk::DistributedSampler sampler{data.size(), group.size(), group.rank()};
  auto loader = sdk::make_epoch_loader(data, sampler, {.batch_size = 32});
  sdk::Heartbeat heartbeat;

  for (int step = 1; step <= 400; ++step) {
    const sdk::LabelledImages batch = sdk::next_batch(loader);
    optimizer.zero_grad();
    const torch::Tensor guess = ddp.forward(batch.images.to(group.device()));
    const torch::Tensor labels = batch.labels.to(group.device());
    const torch::Tensor loss = torch::cross_entropy_loss(guess, labels);
    loss.backward();  // afterwards all ranks have the mean of their gradients
    optimizer.step();
    const auto value = loss.item<double>();
    heartbeat.beat(step, batch.size(), value);
    if (step % 200 == 0) std::printf("rank %d, step %d: loss %.3f\n", group.rank(), step, value);
  }
}

int main() { return sdk::run_worker(train); }
