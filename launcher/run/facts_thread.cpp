#include "launcher/run/facts_thread.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "base/log.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

namespace {

Error not_gathered(Error::Kind kind, const std::string& why) {
  return {kind, "its facts could not be gathered: " + why};
}

}  // namespace

/// The thread holds it, too. While the thread gathers, no lock is held.
class FactsThread::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(asio::io_context& home, Gather gather) : gather_{std::move(gather)}, home_{&home} {}

  void begin() {
    const std::lock_guard lock{mutex_};
    again_ = true;
    if (std::exchange(under_way_, true)) return;
    const auto started = start_left_behind([held = shared_from_this()] { held->run(); });
    if (started) return;
    under_way_ = false;
    found_ = not_gathered(started.error().kind, started.error().message);
  }

  Result<RunRecord> facts_within(std::chrono::milliseconds at_most) {
    std::unique_lock lock{mutex_};
    if (ended_.wait_for(lock, at_most, [this] { return !under_way_; })) return found_;
    return not_gathered(Error::Kind::kTimeout,
                        fmt::format("no answer from a disk for {} ms", at_most.count()));
  }

  /// The process may end before the thread: it must not log, and there is no `home` any more.
  void leave_behind() {
    const std::lock_guard lock{mutex_};
    home_ = nullptr;
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (std::exchange(again_, false)) {
      lock.unlock();
      Result<RunRecord> found = gathered();
      lock.lock();
      found_ = std::move(found);
    }
    under_way_ = false;
    ended_.notify_all();
    if (home_ == nullptr || !found_) return;
    asio::post(*home_, [] { log::debug("gathered the facts of this run for its record"); });
  }

  Result<RunRecord> gathered() const try {
    return gather_();
  } catch (const std::exception& failure) {
    return not_gathered(Error::Kind::kUnavailable, failure.what());
  }

  const Gather gather_;
  std::mutex mutex_;
  std::condition_variable ended_;
  asio::io_context* home_;  // null: this thread is left behind
  bool under_way_ = false;
  bool again_ = false;
  Result<RunRecord> found_ = not_gathered(Error::Kind::kUnavailable, "nobody has asked for them");
};

FactsThread::FactsThread(asio::io_context& home, Gather gather)
    : work_{std::make_shared<Work>(home, std::move(gather))} {}

FactsThread::~FactsThread() { work_->leave_behind(); }

void FactsThread::begin() { work_->begin(); }

Result<RunRecord> FactsThread::facts_within(std::chrono::milliseconds at_most) {
  return work_->facts_within(at_most);
}

}  // namespace ddprun
