// SpawnPool: threads that start processes, so that the workers of a node start on all its CPUs at
// once.
//
// A thread that starts a process sleeps until that executes its program (vfork(2)), most of a
// millisecond; one after the other, the workers of a big node would wait for each other. If the
// program is on a disk that hangs, it sleeps for ever: then the threads are left behind. A process
// that asked for a death signal gets it when the *thread* that started it ends (prctl(2)): the pool
// has to live as long as what it has started.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace ddprun {

class SpawnPool {
 public:
  /// The threads, at least one, take no signals. They begin with the first work. If the system
  /// starts fewer of them, those do the work, and without any the caller's thread does it.
  explicit SpawnPool(int threads);
  SpawnPool(const SpawnPool&) = delete;
  SpawnPool& operator=(const SpawnPool&) = delete;
  ~SpawnPool();

  /// Calls work(0) to work(count - 1), each once, in any order and on any thread; returns when all
  /// are done. `work` does not throw.
  void for_each(int count, const std::function<void(int)>& work);

  /// Work that has been begun; it may outlive the pool.
  class Batch {
   public:
    /// Waits until all of it is done, but no longer than that. Returns whether it is.
    bool done_within(std::chrono::milliseconds at_most);
    /// Waits for ever.
    void wait();

   private:
    friend class SpawnPool;
    struct Shared;
    std::shared_ptr<Shared> shared_;
    std::function<void(int)> work_;
    int count_ = 0, next_ = 0, done_ = 0;
  };

  /// Begins what for_each() does, behind all that was begun before. All that `work` touches has to
  /// belong to it.
  std::shared_ptr<Batch> begin(int count, std::function<void(int)> work);

 private:
  void begin_threads();

  const int size_;
  std::shared_ptr<Batch::Shared> shared_;  // with the threads, too
  std::vector<std::thread> threads_;
};

}  // namespace ddprun
