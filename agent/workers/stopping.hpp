// How workers are stopped, and what becomes of what they leave behind.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <vector>

#include "base/asio.hpp"
#include "base/process/child_process.hpp"

namespace ddprun {

/// Sends the signal to the group of the worker, also when the worker has ended. But one with a
/// handler for SIGTERM gets that alone: it saves what it has, and may need its children for that.
/// timeout(1), which hands signals on, gets every one alone. One that ignores SIGINT, as jobs do
/// that a script has started with `&`, gets SIGTERM in its place. Returns whether all of the group
/// has got SIGTERM.
bool tell_to_end(const ChildProcess& worker, int signal);

/// Sends the signal that asks for a checkpoint to the worker. Where that one has no handler for it,
/// as a shell or `conda run` around the program, the processes below it get it that have one, and
/// nothing below those. Returns whether one has: else no process gets the signal, for it would
/// only kill.
bool ask_for_checkpoint(const ChildProcess& worker, int signal);

/// What workers leave behind when they have ended: programs below a shell that are saving still,
/// daemons, Python's resource tracker. It ends, and is ended where it does not.
class Leftovers {
 public:
  /// Names the children of this process that are to stay.
  using Spared = std::function<std::vector<pid_t>()>;

  /// No process of the round that begins has got a signal.
  void begin_round() {
    signaled_groups_.clear();
    signaled_.clear();
  }
  /// That process group has got SIGTERM, so no process of it that handles it gets another one.
  void note_signaled(pid_t group) { signaled_groups_.push_back(group); }

  /// Resolves when all children but the spared ones have ended and are reaped. Those that do not
  /// end by themselves get SIGTERM, and are named; then they have until kill_all(). `at_once`: they
  /// are killed now. What even SIGKILL does not end within kSweepTimeout is left with a warning.
  asio::awaitable<void> end(Spared spared, bool at_once);

  /// They have no more time. It may be said before the coroutine of end() has begun.
  void kill_all();

  /// Kills what is left of the group of a worker that has ended. What ignores SIGTERM may be about
  /// to clean up, and is left to end().
  static void kill_group(pid_t worker);

 private:
  asio::awaitable<void> let_end();
  void tell();

  std::vector<pid_t> signaled_groups_;
  std::vector<pid_t> signaled_;  // by tell(), and busy with what they do about it
  Spared spared_;                // empty: end() does not run
  bool kills_ = false;
};

}  // namespace ddprun
