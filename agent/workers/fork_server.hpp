// ForkServer: starts workers by forking a process that has made their imports, instead of running
// the interpreter for each.
//
// The process, a fork server, is of the workers' own interpreter and runs fork_server.py, which is
// compiled into this program with fork_server_imports.py. It outlives rounds. If there is none (it
// does not load, it died, it may not fork), workers start the ordinary way, and a warning says once
// why. See fork(2); the idea is that of Python's own forkserver
// (https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/workers/fork_server_protocol.hpp"
#include "base/process/child_process.hpp"
#include "base/process/spawn_pool.hpp"

namespace ddprun {

class ForkServer {
 public:
  /// `command` is what plan_fork_server() made. `pool` must outlive the process.
  ForkServer(const asio::any_io_executor& executor, SpawnPool& pool, Command command);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer() { end(); }

  /// Starts the process, unless it is there or has been given up.
  void begin();

  /// Starts all of `children`, as ChildProcess::spawn() does; they run once all have been started.
  /// Waits until the imports are done, for kImportTimeout at most, and gives up with errors
  /// (kUnavailable) as soon as `unwanted`; call look_again() when that changes. Starts take turns:
  /// what one has forked is wanted and the caller's, or has been killed, before the next begins.
  /// Nothing runs its program before it is the caller's.
  asio::awaitable<std::vector<Result<ChildProcess>>> spawn(std::vector<NewChild> children,
                                                           std::function<bool()> unwanted);
  /// Asks `unwanted` again for the spawn() in progress.
  void look_again();

  /// Kills the process, and workers that have not been let go. Reaping them is the caller's.
  void end();

  /// A child of this process; -1: there is none.
  pid_t pid() const;

 private:
  struct Process;

  Result<void> launch();
  asio::awaitable<std::vector<Result<ChildProcess>>> spawn_now(
      const std::vector<NewChild>& children, const std::function<bool()>& unwanted);
  asio::awaitable<void> listen(std::shared_ptr<Process> process);
  asio::awaitable<void> watch(std::shared_ptr<Process> process);
  asio::awaitable<void> loaded(const std::function<bool()>& unwanted);
  asio::awaitable<void> fork_all(const std::vector<NewChild>& children, int gate);
  asio::awaitable<bool> send(std::shared_ptr<Process> process, std::string order,
                             ChildStreams streams, int gate);
  bool hear_all(const std::shared_ptr<Process>& process);
  void heard(Process& process, const ForkServerEvent& event);
  void give_up(const std::string& why);

  asio::any_io_executor executor_;
  SpawnPool& pool_;
  Command command_;
  std::shared_ptr<Process> process_;  // null: there is none
  bool given_up_ = false;
  ForkServerTurns turns_;
  asio::steady_timer changed_;  // cancelled when one of the above changes
  asio::steady_timer turn_;     // cancelled when the next start may begin; never set, as many wait
};

}  // namespace ddprun
