// The training of steps 4 and 6: DDP, with a checkpoint after every epoch; it goes on where the
// newest one was written.
#pragma once

#include <cstdio>
#include <ddprun/checkpointer.hpp>
#include <ddprun/distributed_data_parallel.hpp>
#include <ddprun/heartbeat.hpp>
#include <filesystem>
#include <functional>

#include "toy.hpp"

namespace toy {

/// `before_epoch` is called on every rank with the number of the epoch that begins.
inline void train_with_checkpoints(
    const ddprun::sdk::ProcessGroup& group, const std::filesystem::path& folder, int epochs,
    const std::function<void(int)>& before_epoch = [](int) {}) {
  using namespace ddprun::sdk;
  const Batch data = make_data();
  auto model = std::make_shared<Model>();
  model->to(group.device());
  DistributedDataParallel<Model> ddp{model, group};
  torch::optim::SGD optimizer{model->parameters(), kLearningRate};
  DistributedSampler sampler{kRows, group.size(), group.rank()};
  Checkpointer checkpointer{folder, group};
  Heartbeat heartbeat;  // when a worker fails, ddprun says how far it had come

  const auto progress = checkpointer.load_latest(*model, optimizer);  // on all ranks
  const int first = progress ? static_cast<int>(progress->step) : 0;
  if (first > 0 && group.rank() == 0) std::printf("goes on after epoch %d\n", first);

  std::int64_t step = first * (kRows / kBatchRows);
  for (int epoch = first; epoch < epochs; ++epoch) {
    before_epoch(epoch);
    sampler.set_epoch(epoch);
    torch::Tensor loss_sum = torch::zeros({1}, group.device());
    for (const Batch& batch : batches(data, sampler, group.size(), group.device())) {
      optimizer.zero_grad();
      const auto loss = loss_of(ddp.forward(batch.inputs), batch.targets);
      loss.backward();
      optimizer.step();
      loss_sum += loss.detach();
      heartbeat.beat(++step, batch.inputs.size(0), loss.item<double>());
    }
    Progress done;
    done.step = epoch + 1;
    checkpointer.save(*model, optimizer, done);  // on all ranks; rank 0 writes
    group.all_reduce(loss_sum);
    if (group.rank() == 0) report(epoch, loss_sum.item<double>() / group.size());
  }
  group.barrier();
}

}  // namespace toy
