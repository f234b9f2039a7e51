// Threads for what may wait for ever, such as a disk or a name server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace ddprun {

/// How messages end about a file or folder that gives no answer.
inline constexpr std::string_view kIsItThere = "is its disk or its server there?";
/// A caller waits this long for such an answer before the user gets to know it.
inline constexpr std::chrono::seconds kTellSilenceAfter{5};

/// Runs `work` in a thread that takes no signals. No caller waits for its end, nor does the
/// process that it is in: so all that it touches has to belong to `work`. Errors: kUnavailable,
/// where the user's limit of processes allows no more (RLIMIT_NPROC).
Result<void> start_left_behind(std::function<void()> work);

/// LeftBehindQueue: a thread that does one thing after the other, each of which may wait for ever,
/// as for a folder whose disk or server is gone. Nothing waits for it, not even the end of the
/// process.
class LeftBehindQueue {
 public:
  /// Which files a task has: those of the whole process, or those alone that tasks of this queue
  /// have opened. A process that is started closes what it has inherited, and to close a file may
  /// take as long as its disk or server wants: so a file that stays open, or that is read and
  /// written where that may hang, is to be a task's own. Such a task cannot log.
  enum class Files { kOfProcess, kOwn };

  /// At most `tasks_max` tasks wait.
  explicit LeftBehindQueue(std::size_t tasks_max, Files files = Files::kOfProcess);
  LeftBehindQueue(const LeftBehindQueue&) = delete;
  LeftBehindQueue& operator=(const LeftBehindQueue&) = delete;
  ~LeftBehindQueue();

  /// Does `task` behind all that were added before. It may outlive all else, so all that it touches
  /// has to belong to it; an exception ends it alone. Errors: kUnavailable, where too many wait, or
  /// the system allows no further thread: then none of those that wait is done.
  Result<void> add(std::function<void()> task);

  /// Returns a file that becomes readable whenever a task has been done, for an event loop that
  /// waits: until heard(), which a waiter calls before it looks whether its task is done. Each
  /// waiter has a file of its own. A queue with files of its own has to be asked before its first
  /// task. Errors: kUnavailable; kInvalid, where it is too late.
  Result<Descriptor> news() const;

  /// That file is readable no more until the next task has been done.
  static void heard(int news);

  /// Waits until all is done, but no longer than that. Returns whether it is: then what the tasks
  /// have written can be read.
  bool done_within(std::chrono::milliseconds at_most);

  /// What `work` returns, which owns all that it uses. Errors: those of it and of add(), and
  /// kTimeout where it returns nothing within that time.
  template <typename T>
  Result<T> answer_within(std::chrono::milliseconds at_most, std::function<Result<T>()> work) {
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    const auto added = add([answer, work = std::move(work)] { answer->emplace(work()); });
    if (!added) return added.error();
    if (!done_within(at_most) || !*answer) return no_answer(at_most);
    return std::move(**answer);
  }

 private:
  static Error no_answer(std::chrono::milliseconds at_most);

  class Work;
  std::shared_ptr<Work> work_;
};

}  // namespace ddprun
