#include "agent/checkpoints/in_threads.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace ddprun {

namespace {

/// More do not copy faster on most machines: the memory is the limit.
constexpr std::size_t kThreadsMax = 4;

}  // namespace

void in_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_part = [&] {
    for (std::size_t at = next++; at < count; at = next++) work(at);
  };
  const std::size_t cpus = std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < std::min({count, cpus, kThreadsMax})) try {
      helpers.emplace_back(take_part);
    } catch (const std::system_error&) {
      break;  // the user's limit of processes
    }
  take_part();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace ddprun
