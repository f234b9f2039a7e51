#include "launcher/doctor/bench/cpu_speeds.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <ctime>

#include "base/clock.hpp"
#include "launcher/doctor/bench/cpu_threads.hpp"
#include "launcher/doctor/bench/ms_since.hpp"
#include "launcher/doctor/bench/work.hpp"

namespace ddprun {

namespace {

using namespace std::chrono_literals;

/// One try takes about 0.1 s, so it is longer than the period in which a cgroup grants its quota.
constexpr int kProducts = 300;
constexpr int kTries = 5;
constexpr auto kTryTimeMax = 1500ms;
constexpr std::size_t kBatchesMax = 6;

double thread_cpu_ms() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

/// A CPU that is too slow for the whole work does a part of it, which stands for the rest.
CpuSpeed try_once(MatrixProduct& product, volatile float& sink) {
  const TimePoint begin = Clock::now();
  const double cpu_begin = thread_cpu_ms();
  int done = 0;
  do sink = product.compute();
  while (++done < kProducts && Clock::now() - begin < kTryTimeMax);
  const double scale = static_cast<double>(kProducts) / done;
  const double wall_ms = ms_since(begin);
  return {.wall_ms = wall_ms * scale, .cpu_ms = (thread_cpu_ms() - cpu_begin) * scale};
}

CpuSpeed best_try(int cpu) {
  MatrixProduct product;
  volatile float sink = product.compute();  // the first one also wakes the CPU up
  CpuSpeed best = try_once(product, sink);
  for (int i = 1; i < kTries; ++i)
    if (const CpuSpeed again = try_once(product, sink); again.wall_ms < best.wall_ms) best = again;
  best.cpu = cpu;
  return best;
}

void measure_batch(const std::vector<int>& cpus, std::vector<CpuSpeed>& speeds) {
  std::vector<CpuSpeed> found(cpus.size());
  std::barrier all_there{static_cast<std::ptrdiff_t>(cpus.size())};
  CpuThreads threads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    threads.start(cpus[i], [&all_there, &speed = found[i], cpu = cpus[i]] {
      all_there.arrive_and_wait();
      speed = best_try(cpu);
    });
  threads.join();
  speeds.insert(speeds.end(), found.begin(), found.end());
}

}  // namespace

std::vector<CpuSpeed> measure_cpus(const std::vector<int>& cpus, int together) {
  const auto batch = static_cast<std::size_t>(std::max(together, 1));
  const std::size_t count = std::min(cpus.size(), batch * kBatchesMax);
  std::vector<CpuSpeed> speeds;
  for (std::size_t begin = 0; begin < count; begin += batch) {
    std::vector<int> members;
    for (std::size_t i = begin; i < std::min(begin + batch, count); ++i)
      members.push_back(cpus[i * cpus.size() / count]);
    measure_batch(members, speeds);
  }
  return speeds;
}

}  // namespace ddprun
