// For scripts/bench in_place: an elastic loop that prints when the first step of each world counts:
// `step ATTEMPT WORKERS SECONDS`, of CLOCK_MONOTONIC. In each attempt before DEATHS (argument 1)
// rank 1 dies at its 20th step of a world of all WORKERS (argument 2), and says when; after the
// last one rank 0 says what an update costs beside its block, `update ATTEMPT WORKERS SECONDS` in
// the median, and the loop ends. scripts/benchmarks/elastic_step.py is the same in Python.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ddprun/sdk.hpp"

namespace {

using namespace ddprun::sdk;

constexpr std::int64_t kStepsOfWorld = 20;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void say(const char* what, int attempt, const World& world, double seconds) {
  std::printf("%s %d %d %.9f\n", what, attempt, world.size(), seconds);
  std::fflush(stdout);
}

/// The median of what updates cost; at least one must have been made.
double median(std::vector<double>& costs) {
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::ranges::nth_element(costs, middle);
  return *middle;
}

void train(int deaths, int workers) {
  torch::set_num_threads(1);
  const LabelledImages data{torch::ones({1024, 16}), torch::zeros(1024)};
  torch::nn::Linear model{16, 4};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions{0.1}};
  auto loader = make_elastic_loader(data, {.local_batch = 8, .workers = 0});
  ElasticRun run;
  run.keep("model", *model);
  run.keep("optimizer", optimizer);
  run.keep("data", loader);
  std::vector<double> costs;
  run.worlds(
      [&](World& world) {
        const int attempt = WorkerEnv::from_environment().restart_count;
        auto ddp = world.wrap(model);
        const std::int64_t begun = run.step();
        const auto is_last = [&] {
          return world.size() == workers && run.step() == begun + kStepsOfWorld;
        };
        while (attempt < deaths || !is_last()) {
          ddp.forward(world.next(loader).images).sum().backward();
          if (world.rank() == 1 && attempt < deaths && is_last()) {
            say("death", attempt, world, now());
            kill(getpid(), SIGKILL);
          }
          double cost = -now();
          world.update([&] {
            cost += now();
            optimizer.step();
            ddp.zero_grad();
            cost -= now();
          });
          costs.push_back(cost + now());
          if (run.step() == begun + 1) say("step", attempt, world, now());
          std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        if (world.rank() == 0) say("update", attempt, world, median(costs));
      },
      {.backend = "gloo"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return run_worker([&] { train(std::atoi(argv[1]), std::atoi(argv[2])); });
}
