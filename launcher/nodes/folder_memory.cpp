#include "launcher/nodes/folder_memory.hpp"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/system/no_signals.hpp"
#include "launcher/nodes/node_folder.hpp"

namespace ddprun {

namespace {

using std::chrono::milliseconds;

/// The clocks are compared now: the one of the day may be set, while the other one only goes on.
NodeRecord record_of(const NodeFailure& failure) {
  const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - failure.at);
  return {.host = failure.host,
          .time_unix_ms = unix_time_ms() - age.count(),
          .kind = failure.kind,
          .fingerprint = failure.fingerprint,
          .run_id = failure.run_id,
          .sentence = failure.sentence};
}

NodeFailure failure_of(NodeRecord record) {
  const milliseconds age{unix_time_ms() - record.time_unix_ms};
  return {.host = std::move(record.host),
          .at = Clock::now() - age,
          .kind = record.kind,
          .fingerprint = std::move(record.fingerprint),
          .run_id = std::move(record.run_id),
          .sentence = std::move(record.sentence)};
}

class ProcessMemory : public NodeMemory {
 public:
  void remember(const NodeFailure& failure) override {
    if (failures_.size() >= kNodeFailuresMax) failures_.erase(failures_.begin());
    failures_.push_back(failure);
  }
  void recall(Answer answer) override { answer(failures_); }

 private:
  std::vector<NodeFailure> failures_;
};

}  // namespace

/// The thread holds it, too. While the thread reads or writes, no lock is held.
class FolderMemory::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(const asio::any_io_executor& home, std::filesystem::path folder)
      : home_{home}, folder_{std::move(folder)} {}

  void add(std::function<void()> task) {
    const std::lock_guard lock{mutex_};
    if (tasks_.size() >= kMemoryTasksMax)
      return warn("more waits for it than it takes: it does not answer");
    tasks_.push_back(std::move(task));
    if (std::exchange(under_way_, true)) return;
    try {
      const NoSignals inherited;
      std::thread{[held = shared_from_this()] { held->run(); }}.detach();
    } catch (const std::system_error& refused) {
      under_way_ = false;
      tasks_.clear();
      warn(refused.what());
    }
  }

  /// What cannot be written counts for this process all the same.
  void write(const NodeRecord& record) {
    const auto written = add_node_record(folder_, record);
    if (written) return;
    const std::lock_guard lock{mutex_};
    unwritten_.push_back(record);
    if (unwritten_.size() == 1) warn(written.error().message);
  }

  /// Those who have asked may be gone with their event loops when the process ends.
  void reply(const Answer& answer, Failures failures) {
    const std::lock_guard lock{mutex_};
    if (home_) answer(std::move(failures));
  }

  Failures read() {
    const auto found = read_node_records(folder_);
    const std::lock_guard lock{mutex_};
    if (!found && !std::exchange(warned_, true)) warn(found.error().message);
    if (!found) return std::nullopt;
    for (const std::string& file : found->unread)
      if (!std::exchange(warned_, true)) warn("a record cannot be read: " + file);
    std::vector<NodeFailure> failures;
    for (const NodeRecord& record : found->records) failures.push_back(failure_of(record));
    for (const NodeRecord& record : unwritten_) failures.push_back(failure_of(record));
    return failures;
  }

  /// The process may end before the thread: it must not log, and there is no `home` any more.
  void leave_behind(milliseconds at_most) {
    std::unique_lock lock{mutex_};
    ended_.wait_for(lock, at_most, [this] { return !under_way_; });
    home_.reset();
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!tasks_.empty()) {
      const auto task = std::exchange(tasks_.front(), {});
      tasks_.pop_front();
      lock.unlock();
      try {
        task();
      } catch (const std::exception& failure) {  // out of memory, mostly
        const std::lock_guard relock{mutex_};
        warn(failure.what());
      }
      lock.lock();
    }
    under_way_ = false;
    ended_.notify_all();
  }

  /// To be called with the lock.
  void warn(const std::string& why) {
    if (!home_) return;
    asio::post(*home_, [why] { spdlog::warn("--node-history: {}", why); });
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<asio::any_io_executor> home_;  // nullopt: the thread is left behind
  const std::filesystem::path folder_;
  std::deque<std::function<void()>> tasks_;
  std::vector<NodeRecord> unwritten_;
  bool under_way_ = false;  // the thread
  bool warned_ = false;     // that something cannot be read
};

FolderMemory::FolderMemory(const asio::any_io_executor& home, std::filesystem::path folder)
    : work_{std::make_shared<Work>(home, std::move(folder))} {}

FolderMemory::~FolderMemory() { end_within(milliseconds{0}); }

void FolderMemory::end_within(milliseconds at_most) { work_->leave_behind(at_most); }

void FolderMemory::remember(const NodeFailure& failure) {
  work_->add([work = work_.get(), record = record_of(failure)] { work->write(record); });
}

void FolderMemory::recall(Answer answer) {
  work_->add(
      [work = work_.get(), answer = std::move(answer)] { work->reply(answer, work->read()); });
}

std::shared_ptr<NodeMemory> memory_of_process() { return std::make_shared<ProcessMemory>(); }

}  // namespace ddprun
