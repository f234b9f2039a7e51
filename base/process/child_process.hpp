// ChildProcess: a process of this one, as a worker or ssh. It is started without copying the
// agent's memory, and waited for through its pidfd (pidfd_open(2)).
//
// The process leads its own session and group. When it ends it is not reaped at once: the zombie
// keeps its process group's number from being given to somebody else until release().
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "base/failure.hpp"
#include "base/process/spawn_pool.hpp"
#include "base/process/start_child.hpp"
#include "base/result.hpp"

namespace ddprun {

class ChildProcess {
 public:
  /// Starts all of `children` at once, and returns them in their order. Each dies with the agent
  /// (PR_SET_PDEATHSIG). It has all signals unblocked, and at their default unless the agent was
  /// started with them ignored. It has no open files but 0, 1, 2 and its `files`. `pool` must
  /// outlive the children. Errors, for each by itself: kNotFound, kDenied or kUnavailable, naming
  /// the program.
  static std::vector<Result<ChildProcess>> spawn(const asio::any_io_executor& executor,
                                                 SpawnPool& pool,
                                                 const std::vector<NewChild>& children);

  /// Takes on a process that somebody else started as a worker and that became a child of this one
  /// when its parent ended. Errors: kUnavailable, when `pid` is no child of this process.
  static Result<ChildProcess> adopt_forked(const asio::any_io_executor& executor, pid_t pid);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Kills the whole process group if it was not released.
  ~ChildProcess();

  pid_t pid() const { return pid_; }

  /// Whether the process has ended, even if wait() has not returned yet.
  bool has_ended() const;

  /// Resolves when the process has ended.
  asio::awaitable<ExitStatus> wait();

  /// Sends a signal to this process alone, and not to its children. Harmless after the end, and
  /// after release().
  void signal(int number) const;

  /// Sends a signal to every process of its group. Harmless after the end, and after release().
  void signal_group(int signal) const;

  /// Kills what is left of its group, and reaps the process: at once if it has ended, else as soon
  /// as it has, while the event loop runs.
  void release();

  /// Reaps the process, which has ended, and leaves the rest of its group alone.
  void reap();

 private:
  /// kill(2) takes -1 for all processes, so no signal may go to a process that is not there.
  bool is_released() const { return pid_ <= 0; }
  void reap_later();
  static Result<ChildProcess> adopt(const asio::any_io_executor& executor,
                                    const std::string& program, const StartedChild& started);
  ChildProcess(pid_t pid, asio::posix::stream_descriptor pidfd);

  friend class SlowSpawn;

  pid_t pid_;
  asio::posix::stream_descriptor pidfd_;
};

/// What becomes of so many that were wanted no more before they began.
std::vector<Result<ChildProcess>> stopped_before(std::size_t children);

/// A spawn() that may take for ever, because the program is on a disk that hangs: until a child has
/// it, the thread that starts the child sleeps.
class SlowSpawn {
 public:
  explicit SlowSpawn(std::vector<NewChild> children);

  std::size_t count() const;
  /// The program of the first, for messages.
  const std::string& program() const;

  /// Has the pool start them.
  void begin(SpawnPool& pool);
  bool done_within(std::chrono::milliseconds at_most) { return batch_->done_within(at_most); }
  void wait() { batch_->wait(); }

  /// Whether one that runs its program has ended already, while others may not run theirs yet.
  bool one_has_ended() const;

  /// What ChildProcess::spawn() returns. One that does not run yet is not wanted any more: it is
  /// killed when it does, and its error is kTimeout.
  std::vector<Result<ChildProcess>> take(const asio::any_io_executor& executor);

  /// None of them is wanted: those that run are killed, and so are those that will yet.
  void give_up();

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the pool
  std::shared_ptr<SpawnPool::Batch> batch_;
};

}  // namespace ddprun
