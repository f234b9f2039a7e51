#include "agent/workers/spawn_pool.hpp"

#include <algorithm>
#include <system_error>

#include "base/system/no_signals.hpp"

namespace ddprun {

SpawnPool::SpawnPool(int threads) : size_{std::max(1, threads)} {}

SpawnPool::~SpawnPool() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SpawnPool::for_each(int count, const std::function<void(int)>& work) {
  if (threads_.empty()) begin();
  if (threads_.empty()) {
    for (int i = 0; i < count; ++i) work(i);
    return;
  }
  std::unique_lock lock{mutex_};
  work_ = &work;
  next_ = 0;
  done_ = 0;
  count_ = count;
  changed_.notify_all();
  changed_.wait(lock, [this] { return done_ == count_; });
}

void SpawnPool::begin() try {
  const NoSignals inherited;
  for (int i = 0; i < size_; ++i) threads_.emplace_back([this] { serve(); });
} catch (const std::system_error&) {
  // The user's limit of processes is near (RLIMIT_NPROC): workers may be all that it allows.
}

void SpawnPool::serve() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || next_ < count_; });
    if (ending_) return;
    const int mine = next_++;
    const std::function<void(int)>& work = *work_;
    lock.unlock();
    work(mine);
    lock.lock();
    if (++done_ == count_) changed_.notify_all();
  }
}

}  // namespace ddprun
