// Threads that stay on one CPU each.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace ddprun {

class CpuThreads {
 public:
  /// Starts a thread that does `work` on that CPU. When the system has no thread left, the process
  /// ends: the other threads may wait for this one for ever. So the process has to be one that was
  /// made for these threads, and its parent sees that it has ended.
  void start(int cpu, std::function<void()> work);

  /// Waits for the ends of all threads.
  void join();

 private:
  std::vector<std::thread> threads_;
};

}  // namespace ddprun
