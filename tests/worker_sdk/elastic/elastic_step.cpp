// For scripts/bench in_place: an elastic loop that prints when the first step of each world counts:
// `step ATTEMPT WORKERS SECONDS`, of CLOCK_MONOTONIC. In each attempt before DEATHS (argument 1)
// rank 1 dies at its 20th step of a world of three, and says when; after the last one the loop
// ends. scripts/benchmarks/elastic_step.py is the same in Python.

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "ddprun/sdk.hpp"

namespace {

using namespace ddprun::sdk;

constexpr int kWorkers = 3;
constexpr std::int64_t kStepsOfWorld = 20;

void say(const char* what, int attempt, const World& world) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::printf("%s %d %d %ld.%06ld\n", what, attempt, world.size(), now.tv_sec, now.tv_nsec / 1000);
  std::fflush(stdout);
}

void train(int deaths) {
  torch::set_num_threads(1);
  const LabelledImages data{torch::ones({1024, 16}), torch::zeros(1024)};
  torch::nn::Linear model{16, 4};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions{0.1}};
  auto loader = make_elastic_loader(data, {.local_batch = 8, .workers = 0});
  ElasticRun run;
  run.keep("model", *model);
  run.keep("optimizer", optimizer);
  run.keep("data", loader);
  run.worlds(
      [&](World& world) {
        const int attempt = WorkerEnv::from_environment().restart_count;
        auto ddp = world.wrap(model);
        const std::int64_t begun = run.step();
        const auto is_last = [&] {
          return world.size() == kWorkers && run.step() == begun + kStepsOfWorld;
        };
        while (attempt < deaths || !is_last()) {
          ddp.forward(world.next(loader).images).sum().backward();
          if (world.rank() == 1 && attempt < deaths && is_last()) {
            say("death", attempt, world);
            kill(getpid(), SIGKILL);
          }
          world.update([&] {
            optimizer.step();
            ddp.zero_grad();
          });
          if (run.step() == begun + 1) say("step", attempt, world);
          std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
      },
      {.backend = "gloo"});
}

}  // namespace

int main(int argc, char** argv) {
  const int deaths = argc > 1 ? std::atoi(argv[1]) : 0;
  return run_worker([deaths] { train(deaths); });
}
