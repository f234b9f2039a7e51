#include "launcher/nodes/folder_memory.hpp"

#include <boost/asio/post.hpp>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/system/left_behind.hpp"
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

NodeFailure failure_of(const NodeRecord& record) {
  const milliseconds age{unix_time_ms() - record.time_unix_ms};
  return failure_at(Clock::now() - age, record);
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

/// The queue's tasks hold it, too. While one reads or writes, no lock is held.
class FolderMemory::Work : public std::enable_shared_from_this<Work> {
 public:
  Work(const asio::any_io_executor& home, std::filesystem::path folder)
      : home_{home}, folder_{std::move(folder)} {}

  void add(std::function<void(Work&)> task) {
    const auto perform = [held = shared_from_this(), task = std::move(task)] {
      try {
        task(*held);
      } catch (const std::exception& failure) {  // usually out of memory
        held->warn_once(failure.what());
      }
    };
    if (const auto added = queue_.add(perform); !added) warn_once(added.error().message);
  }

  /// What cannot be written counts for this process all the same, and is written when it can be.
  void write(const NodeRecord& record) {
    unwritten_.push_back(record);
    if (unwritten_.size() > kNodeFailuresMax) unwritten_.pop_front();
    while (!unwritten_.empty()) {
      const auto written = add_node_record(folder_, unwritten_.front());
      if (!written) return warn_once(written.error().message);
      unwritten_.pop_front();
    }
  }

  /// The callers may be gone with their event loops when the process ends.
  void reply(const Answer& answer, Failures failures) {
    const std::lock_guard lock{mutex_};
    if (home_) answer(std::move(failures));
  }

  Failures read() {
    auto found = read_node_records(folder_, known_);
    if (!found) {
      warn_once(found.error().message);
      return std::nullopt;
    }
    if (!found->unread.empty()) warn_once("a record cannot be read: " + found->unread.front());
    known_ = std::move(*found);
    std::vector<NodeFailure> failures;
    for (const NodeRecord& record : known_.records) failures.push_back(failure_of(record));
    for (const NodeRecord& record : unwritten_) failures.push_back(failure_of(record));
    return failures;
  }

  /// The process may end before the thread: it must not log, and there is no `home` any more.
  void leave_behind(milliseconds at_most) {
    queue_.done_within(at_most);
    const std::lock_guard lock{mutex_};
    home_.reset();
  }

 private:
  /// Says what went wrong first.
  void warn_once(const std::string& why) {
    const std::lock_guard lock{mutex_};
    if (!home_ || std::exchange(warned_, true)) return;
    asio::post(*home_, [why] { log::warn("--node-history: {}", why); });
  }

  LeftBehindQueue queue_{kMemoryTasksMax, LeftBehindQueue::Files::kOwn};
  std::mutex mutex_;
  std::optional<asio::any_io_executor> home_;  // nullopt: the thread is left behind
  const std::filesystem::path folder_;
  bool warned_ = false;

  // Only the thread has these.
  NodeRecords known_;
  std::deque<NodeRecord> unwritten_;
};

FolderMemory::FolderMemory(const asio::any_io_executor& home, std::filesystem::path folder)
    : work_{std::make_shared<Work>(home, std::move(folder))} {}

FolderMemory::~FolderMemory() { end_within(milliseconds{0}); }

void FolderMemory::end_within(milliseconds at_most) { work_->leave_behind(at_most); }

void FolderMemory::remember(const NodeFailure& failure) {
  work_->add([record = record_of(failure)](Work& work) { work.write(record); });
}

void FolderMemory::recall(Answer answer) {
  work_->add([answer = std::move(answer)](Work& work) { work.reply(answer, work.read()); });
}

std::shared_ptr<NodeMemory> memory_of_process() { return std::make_shared<ProcessMemory>(); }

}  // namespace ddprun
