// SpawnPool: threads that start processes, so that the workers of a node start on all its CPUs at
// once.
//
// A thread that starts a process sleeps until that executes its program (vfork(2)), most of a
// millisecond; one after the other, the workers of a big node would wait for each other.
// A process that asked for a death signal gets it when the *thread* that started it ends
// (prctl(2)): the pool has to live as long as what it has started.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ddprun {

class SpawnPool {
 public:
  /// The threads, at least one, take no signals. They begin with the first work. Where the system
  /// starts fewer of them, those do, and without any the caller's thread does the work.
  explicit SpawnPool(int threads);
  SpawnPool(const SpawnPool&) = delete;
  SpawnPool& operator=(const SpawnPool&) = delete;
  ~SpawnPool();

  /// Calls work(0) to work(count - 1), each once, in any order and on any thread; returns when all
  /// are done. `work` does not throw.
  void for_each(int count, const std::function<void(int)>& work);

 private:
  void begin();
  void serve();

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int)>* work_ = nullptr;
  int next_ = 0;
  int count_ = 0;
  int done_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ddprun
