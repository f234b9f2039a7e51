#include "launcher/doctor/bench/cpu_threads.hpp"

#include <sched.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace ddprun {

namespace {

/// A CPU that has just been switched off is none to stay on; the thread then runs anywhere.
void stay_on_cpu(int cpu) {
  const int bits = cpu + 1;
  cpu_set_t* const set = CPU_ALLOC(bits);
  if (set == nullptr) return;
  const std::size_t size = CPU_ALLOC_SIZE(bits);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  ::sched_setaffinity(0, size, set);
  CPU_FREE(set);
}

}  // namespace

void CpuThreads::start(int cpu, std::function<void()> work) {
  try {
    threads_.emplace_back([cpu, work = std::move(work)] {
      stay_on_cpu(cpu);
      work();
    });
  } catch (const std::system_error&) {
    ::_exit(1);
  }
}

void CpuThreads::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace ddprun
