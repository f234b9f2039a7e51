// A worker of tests/system/checkpoint_test.sh: goes through one epoch of numbers, with a checkpoint
// after every step, and writes down which numbers it has used.
//
//     epoch_worker FOLDER RUN NUMBERS DIE_AFTER
//
// FOLDER/checkpoints has the checkpoints, FOLDER/used.RUN.RANK a line "STEP NUMBER" for each
// number, FOLDER/begun.RUN the step it has begun after. After DIE_AFTER steps the last rank is
// killed.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "ddprun/checkpointer.hpp"
#include "ddprun/data_loader.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/heartbeat.hpp"

namespace {

using namespace ddprun::sdk;
namespace fs = std::filesystem;

constexpr std::int64_t kBatchSize = 4;

struct Arguments {
  fs::path folder;
  std::string run;
  std::int64_t numbers;
  int die_after;
};

void go_on(const Arguments& arguments, const ProcessGroup& group) {
  torch::nn::Linear network{1, 1};
  torch::optim::SGD optimizer{network->parameters(), 0.1};
  DistributedSampler sampler{arguments.numbers, group.size(), group.rank()};
  Checkpointer checkpointer{arguments.folder / "checkpoints", group, {.asynchronous = false}};
  Heartbeat heartbeat;
  std::int64_t step = 0;
  if (const auto progress = checkpointer.load_latest(*network, optimizer)) {
    step = progress->step;
    sampler.resume(progress->sampler.value());
  }
  if (group.rank() == 0)
    std::ofstream{arguments.folder / ("begun." + arguments.run)} << step << "\n";
  std::ofstream used{arguments.folder /
                     ("used." + arguments.run + "." + std::to_string(group.rank()))};
  const std::int64_t last_step = step + arguments.die_after;
  std::int64_t count = 0;
  DataLoader<std::vector<std::int64_t>> loader{
      sampler.indices(),
      [](const std::vector<std::int64_t>& batch) { return batch; },
      {.batch_size = kBatchSize, .workers = 2}};
  for (const auto& batch : loader) {
    ++step;
    count += static_cast<std::int64_t>(batch.size());
    for (const std::int64_t number : batch) used << step << ' ' << number << '\n';
    used.flush();
    checkpointer.save(*network, optimizer, {.step = step, .sampler = sampler.state_after(count)});
    heartbeat.beat(step, static_cast<std::int64_t>(batch.size()), 0.25);
    group.barrier();
    if (step == last_step && group.rank() == group.size() - 1) std::raise(SIGKILL);
    group.barrier();
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::invalid_argument{"usage: epoch_worker FOLDER RUN NUMBERS DIE_AFTER"};
  const ProcessGroup group = init_process_group({.backend = "gloo"});
  go_on({argv[1], argv[2], std::stoll(argv[3]), std::stoi(argv[4])}, group);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "epoch_worker: " << e.what() << std::endl;
  return 1;
}
