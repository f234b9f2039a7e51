// A training on CPUs that goes on when it loses a worker. Each worker writes a line for each step:
//
//     ddprun --nproc-per-node 3 --max-restarts 9 --no-python in_place
//
// It has no end unless --steps is given. Kill one of its processes, and the others' lines go on.
// docs/examples/in_place.py is the same in Python.

#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ddprun/elastic_loader.hpp>
#include <ddprun/elastic_run.hpp>
#include <ddprun/labelled_images.hpp>
#include <ddprun/run_worker.hpp>
#include <limits>
#include <thread>

namespace {

using namespace ddprun::sdk;

struct Arguments {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::int64_t rank_1_dies_at = -1;
};

/// The step after which the training ends in that world. Where rank 1 was to die, it ends when
/// another one has taken part, however long that one takes to start: not in a smaller world than
/// the largest one, which had `workers`.
std::int64_t last_step(const Arguments& arguments, const World& world, int workers,
                       std::int64_t step) {
  if (arguments.rank_1_dies_at < 0) return arguments.steps;
  if (world.size() < workers) return std::numeric_limits<std::int64_t>::max();
  return std::max(arguments.steps, step + 10);
}

void train(const Arguments& arguments) {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const torch::Tensor numbers = torch::randn({4096, 16});
  const LabelledImages data{numbers, numbers.sum(1, /*keepdim=*/true)};
  torch::nn::Sequential model{torch::nn::Linear(16, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, 1)};
  torch::optim::AdamW optimizer{model->parameters(), torch::optim::AdamWOptions{1e-2}};
  auto loader = make_elastic_loader(data, {.global_batch = 96, .seed = 7});

  ElasticRun run{{.steps = arguments.steps}};
  run.keep("model", *model);
  run.keep("optimizer", optimizer);
  run.keep("data", loader);
  int workers = 0;
  run.worlds(
      [&](World& world) {
        workers = std::max(workers, world.size());
        const std::int64_t end = last_step(arguments, world, workers, run.step());
        auto ddp = world.wrap(model);
        const bool is_first_attempt = world.group().env().restart_count == 0;
        while (run.step() < end) {
          const LabelledImages batch = world.next(loader);
          const torch::Tensor loss = torch::mse_loss(ddp.forward(batch.images), batch.labels);
          loss.backward();
          if (world.rank() == 1 && run.step() == arguments.rank_1_dies_at && is_first_attempt)
            kill(getpid(), SIGKILL);
          world.update(
              [&] {
                optimizer.step();
                ddp.zero_grad();
              },
              loss.item<double>());
          std::printf("step %ld rank %d of %d pid %d\n", run.step(), world.rank(), world.size(),
                      getpid());
          std::fflush(stdout);
          std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
        std::printf("the end: rank %d of %d pid %d\n", world.rank(), world.size(), getpid());
      },
      {.backend = "gloo"});
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"A training on CPUs that goes on when it loses a worker."};
  app.add_option("--steps", arguments.steps, "how many the training has");
  app.add_option("--rank-1-dies-at", arguments.rank_1_dies_at, "the step in which it is killed")
      ->type_name("STEP");
  CLI11_PARSE(app, argc, argv);
  return run_worker([&] { train(arguments); });
}
