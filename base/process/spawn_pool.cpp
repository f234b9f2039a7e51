#include "base/process/spawn_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/system/signals.hpp"

namespace ddprun {

struct SpawnPool::Batch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Batch>> waiting;  // batches of which something is to be begun
  int busy = 0;                                // threads that work
  bool ending = false;

  void serve() {
    std::unique_lock lock{mutex};
    for (;;) {
      changed.wait(lock, [this] { return ending || !waiting.empty(); });
      if (ending) return;
      const std::shared_ptr<Batch> batch = waiting.front();
      const int mine = batch->next_++;
      if (batch->next_ == batch->count_) waiting.pop_front();
      ++busy;
      lock.unlock();
      batch->work_(mine);
      lock.lock();
      --busy;
      if (++batch->done_ == batch->count_) changed.notify_all();
    }
  }
};

SpawnPool::SpawnPool(int threads)
    : size_{std::max(1, threads)}, shared_{std::make_shared<Batch::Shared>()} {}

SpawnPool::~SpawnPool() {
  std::unique_lock lock{shared_->mutex};
  shared_->ending = true;
  const bool hangs = shared_->busy > 0;
  lock.unlock();
  shared_->changed.notify_all();
  for (std::thread& thread : threads_) hangs ? thread.detach() : thread.join();
}

void SpawnPool::for_each(int count, const std::function<void(int)>& work) {
  begin(count, work)->wait();
}

std::shared_ptr<SpawnPool::Batch> SpawnPool::begin(int count, std::function<void(int)> work) {
  auto batch = std::make_shared<Batch>();
  batch->shared_ = shared_;
  batch->work_ = std::move(work);
  batch->count_ = count;
  if (threads_.empty()) begin_threads();
  if (threads_.empty())
    for (; batch->done_ < count; ++batch->done_) batch->work_(batch->done_);
  const std::lock_guard lock{shared_->mutex};
  if (batch->done_ < count) shared_->waiting.push_back(batch);
  shared_->changed.notify_all();
  return batch;
}

bool SpawnPool::Batch::done_within(std::chrono::milliseconds at_most) {
  std::unique_lock lock{shared_->mutex};
  return shared_->changed.wait_for(lock, at_most, [this] { return done_ == count_; });
}

void SpawnPool::Batch::wait() {
  std::unique_lock lock{shared_->mutex};
  shared_->changed.wait(lock, [this] { return done_ == count_; });
}

void SpawnPool::begin_threads() try {
  const NoSignals inherited;
  for (int i = 0; i < size_; ++i) threads_.emplace_back([shared = shared_] { shared->serve(); });
} catch (const std::system_error&) {
  // The user's limit of processes is near (RLIMIT_NPROC): workers may be all that it allows.
}

}  // namespace ddprun
