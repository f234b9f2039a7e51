// Logs the steps FIRST to LAST for tensorboard_test.py; FIRST is where a training goes on.
//
//     metrics_writer FOLDER FIRST LAST FACTOR

#include <iostream>
#include <string>

#include "ddprun/metrics_log.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: metrics_writer FOLDER FIRST LAST FACTOR\n";
    return 1;
  }
  ddprun::sdk::MetricsLog metrics{{.tensorboard = argv[1]}};
  const std::int64_t first = std::stoll(argv[2]);
  metrics.resume(first - 1);
  for (std::int64_t step = first; step <= std::stoll(argv[3]); ++step) {
    const double loss = std::stod(argv[4]) / static_cast<double>(step);
    metrics.log(step, {{"loss", loss}, {"rate/lr", 1e-3 * static_cast<double>(step)}});
  }
}
