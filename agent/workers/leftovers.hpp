// What workers leave behind when they have ended: programs below a shell that are saving still,
// daemons, Python's resource tracker. It ends, and is ended where it does not.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <vector>

#include "base/asio.hpp"

namespace ddprun {

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
