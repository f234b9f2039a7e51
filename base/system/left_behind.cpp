#include "base/system/left_behind.hpp"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/number_text.hpp"
#include "base/system/linux_calls.hpp"
#include "base/system/signals.hpp"

namespace ddprun {

Result<void> start_left_behind(std::function<void()> work) {
  try {
    const NoSignals inherited;
    std::thread{std::move(work)}.detach();
    return {};
  } catch (const std::system_error& refused) {
    return Error{Error::Kind::kUnavailable, refused.what()};
  }
}

namespace {

/// An idle thread stays this long for the next task: to start a thread takes longer than many
/// tasks.
constexpr std::chrono::seconds kLinger{1};

}  // namespace

/// The thread, which is there as long as something is to be done, holds it, too. While it does
/// something, no lock is held.
class LeftBehindQueue::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(std::size_t tasks_max, Files files) : tasks_max_{tasks_max}, files_{files} {}

  Result<void> add(std::function<void()> task) {
    const std::lock_guard lock{mutex_};
    if (tasks_.size() >= tasks_max_)
      return Error{Error::Kind::kUnavailable, "it does not answer, and much waits for it"};
    tasks_.push_back(std::move(task));
    under_way_ = true;
    if (std::exchange(has_thread_, true)) {
      added_.notify_one();
      return {};
    }
    auto started = start_left_behind([held = shared_from_this()] { held->run(); });
    if (started) return {};
    has_thread_ = under_way_ = false;
    tasks_.clear();
    return started.error();
  }

  Result<Descriptor> news() {
    const std::lock_guard lock{mutex_};
    if (!bell_.is_open() && has_thread_ && files_ == Files::kOwn)
      return Error{Error::Kind::kInvalid, "its thread has taken its files already"};
    if (!bell_.is_open()) bell_ = Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    // Nobody reads the bell, for that would take the news from other waiters. What each waiter has
    // heard is in a set of its own, which tells of each ring once.
    Descriptor hears{::epoll_create1(EPOLL_CLOEXEC)};
    epoll_event ring{};
    ring.events = EPOLLIN | EPOLLET;
    if (::epoll_ctl(hears.number(), EPOLL_CTL_ADD, bell_.number(), &ring) == 0) return hears;
    return Error{Error::Kind::kUnavailable, std::strerror(errno)};
  }

  bool done_within(std::chrono::milliseconds at_most) {
    std::unique_lock lock{mutex_};
    return done_.wait_for(lock, at_most, [this] { return !under_way_; });
  }

  /// No more is added.
  void end() {
    const std::lock_guard lock{mutex_};
    ending_ = true;
    added_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    if (files_ == Files::kOwn) take_own_files(bell_.number());
    while (awaits_task(lock)) {
      do_all(lock);
      under_way_ = false;
      done_.notify_all();
    }
    has_thread_ = false;
  }

  /// A thread with files of its own stays for them. Returns false if the thread may end.
  bool awaits_task(std::unique_lock<std::mutex>& lock) {
    const auto is_over = [this] { return !tasks_.empty() || ending_; };
    if (files_ == Files::kOwn)
      added_.wait(lock, is_over);
    else
      added_.wait_for(lock, kLinger, is_over);
    return !tasks_.empty();
  }

  void do_all(std::unique_lock<std::mutex>& lock) {
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      perform(task);
      task = nullptr;  // all is done only when nothing of it is held any more
      lock.lock();
      if (bell_.is_open()) ::eventfd_write(bell_.number(), 1);
    }
  }

  static void perform(const std::function<void()>& task) try {
    task();
  } catch (const std::exception& failure) {
    log::debug("what may wait for ever has failed: {}", failure.what());
  }

  const std::size_t tasks_max_;
  const Files files_;
  Descriptor bell_;  // is there where somebody wants to hear of tasks that are done
  std::mutex mutex_;
  std::condition_variable added_, done_;
  std::deque<std::function<void()>> tasks_;
  bool under_way_ = false;   // something is to be done
  bool has_thread_ = false;  // to do it, or that lingers
  bool ending_ = false;
};

LeftBehindQueue::LeftBehindQueue(std::size_t tasks_max, Files files)
    : work_{std::make_shared<Work>(tasks_max, files)} {}

LeftBehindQueue::~LeftBehindQueue() { work_->end(); }

Result<void> LeftBehindQueue::add(std::function<void()> task) {
  return work_->add(std::move(task));
}

Result<Descriptor> LeftBehindQueue::news() const { return work_->news(); }

void LeftBehindQueue::heard(int news) {
  epoll_event ring{};
  ::epoll_wait(news, &ring, 1, 0);
}

bool LeftBehindQueue::done_within(std::chrono::milliseconds at_most) {
  return work_->done_within(at_most);
}

Error LeftBehindQueue::no_answer(std::chrono::milliseconds at_most) {
  return {Error::Kind::kTimeout,
          fmt::format("no answer within {}: {}", seconds_text(at_most), kIsItThere)};
}

}  // namespace ddprun
