// Spawner starts the processes of workers, whose program may be on a disk that hangs or has much to
// do: until a child has its program, the thread that starts the child sleeps. So threads do that
// which can be left behind, and the event loop waits a moment at most.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/asio.hpp"
#include "base/process/child_process.hpp"
#include "base/process/spawn_pool.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"

namespace ddprun {

class Spawner {
 public:
  using Processes = std::vector<Result<ChildProcess>>;

  /// `threads`: how many processes are started at the same time.
  Spawner(const asio::any_io_executor& executor, int threads);

  SpawnPool& pool() { return pool_; }

  /// Starts all of `children`, and returns them as ChildProcess::spawn() does; nullopt: not all
  /// have their program yet, and spawned() waits for that.
  std::optional<Processes> spawn_soon(std::vector<NewChild> children);

  /// Waits for those that were begun last. Gives up, with errors (kUnavailable), as soon as
  /// `unwanted`; call look_again() when that changes. Those that were not wanted are killed. While
  /// some hang, the end of another one ends the wait: they have an error then (kTimeout).
  asio::awaitable<Processes> spawned(std::function<bool()> unwanted);
  void look_again() { changed_.cancel(); }

 private:
  asio::awaitable<void> until_unwanted(std::function<bool()> unwanted);
  asio::awaitable<void> until_one_ends(std::shared_ptr<SlowSpawn> spawn);

  asio::any_io_executor executor_;
  SpawnPool pool_;
  LeftBehindQueue waits_;  // its thread is there only where a start takes long
  std::shared_ptr<SlowSpawn> last_;
  asio::steady_timer changed_;
};

}  // namespace ddprun
