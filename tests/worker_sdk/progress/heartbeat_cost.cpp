// For scripts/bench: what Heartbeat::beat() costs under ddprun, in nanoseconds a call, as one line
// of JSON: the median of rounds, and the greatest.

#include <algorithm>
#include <array>
#include <iostream>

#include "ddprun/heartbeat.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"

int main() {
  using ddprun::sdk::monotonic_ns;
  constexpr int kCalls = 1'000'000;
  ddprun::sdk::Heartbeat heartbeat;
  if (!heartbeat.connected()) {
    std::cerr << "heartbeat_cost: no process listens; start it with ddprun" << std::endl;
    return 1;
  }
  std::int64_t step = 0;
  std::array<double, 11> rounds{};
  for (double& ns : rounds) {
    const std::int64_t begin = monotonic_ns();
    for (int i = 0; i < kCalls; ++i) heartbeat.beat(++step, 16, 0.25);
    ns = static_cast<double>(monotonic_ns() - begin) / kCalls;
  }
  std::ranges::sort(rounds);
  std::cout << "{\"median_ns\": " << rounds[rounds.size() / 2]
            << ", \"greatest_ns\": " << rounds.back() << "}" << std::endl;
}
