// QueryProcess: a process of this one that finds something out, which may hang or crash.
//
// A file server, name server or driver that is ill blocks its callers for minutes, and no system
// call takes a deadline. So each question has a process of its own: several wait at the same time,
// and one that gets no answer is killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace ddprun {

struct ProgramOptions {
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; nullopt: our own
  bool shows_errors = false;                                 // its errors appear where ours do
};

class QueryProcess {
 public:
  /// Starts a process that does `work` and writes what it returns; an exception ends it without an
  /// answer. To be called while this process has one thread.
  static QueryProcess start(std::chrono::milliseconds timeout,
                            const std::function<std::string()>& work);

  /// Starts a program, whose standard output is the answer. `words.front()` is its path, or a name
  /// that PATH is searched for. No shell reads the words.
  static QueryProcess run(std::chrono::milliseconds timeout, const std::vector<std::string>& words,
                          const ProgramOptions& options = {});

  QueryProcess(QueryProcess&&) noexcept;
  QueryProcess& operator=(QueryProcess&&) = delete;
  /// Kills the process if it is still there.
  ~QueryProcess();

  /// An answer may have this many bytes.
  static constexpr std::size_t kBytesMax = 4 * 1024 * 1024;

  /// Whether there is a process to answer.
  bool started() const { return pid_ > 0 && pipe_.is_open(); }

  /// Releases the read end of the pipe, for callers that must not block.
  int release_pipe() { return pipe_.release(); }

  /// Kills the process, and waits for nothing.
  void kill() const;

  /// Leaves the process to what reaps all children of this one, as an agent does, and waits for
  /// nothing.
  void leave() { pid_ = -1; }

  /// Waits for the end of the process, and returns all that it has written. Errors: kTimeout when
  /// that has not come in time, or is too long; kUnavailable when it could not be started, or wrote
  /// nothing.
  Result<std::string> answer(std::size_t bytes_max = kBytesMax);

 private:
  QueryProcess(pid_t pid, Descriptor pipe, std::chrono::milliseconds timeout);

  pid_t pid_;
  Descriptor process_;  // readable when the process has ended, even if it is reaped elsewhere; not
                        // open on an old kernel
  Descriptor pipe_;
  std::chrono::milliseconds timeout_;
  TimePoint deadline_;
};

/// What a program prints that is asked with these words, even if it fails then; "" when it cannot
/// be run, or takes longer than `timeout`. Its errors appear where ours do.
std::string output_of(const std::vector<std::string>& words,
                      std::chrono::milliseconds timeout = std::chrono::seconds{30});

}  // namespace ddprun
