// LeftBehindQueue: a thread that does one thing after the other, each of which may wait for ever,
// as for a folder whose disk or server is gone. Nobody waits for it, neither does the end of the
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.hpp"

namespace ddprun {

class LeftBehindQueue {
 public:
  /// At most so many tasks wait.
  explicit LeftBehindQueue(std::size_t tasks_max);

  /// Does `task` behind all that were added before. It may outlive all else, so all that it touches
  /// has to belong to it; an exception ends it alone. Errors: kUnavailable, where too many wait, or
  /// the system allows no further thread: then none of those that wait is done.
  Result<void> add(std::function<void()> task);

  /// Waits until all is done, but no longer than that. Returns whether it is: then what the tasks
  /// have written can be read.
  bool done_within(std::chrono::milliseconds at_most);

 private:
  class Work;
  std::shared_ptr<Work> work_;
};

}  // namespace ddprun
