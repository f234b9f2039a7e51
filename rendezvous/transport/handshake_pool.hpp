// HandshakePool: threads that compute a coordinator's answers to nodes that begin TLS.
//
// An answer takes 0.15 ms, more than all else that a node costs before its first round. When
// thousands of nodes come at once, the event loop leaves the answers to other CPUs. It still reads,
// writes and decides by itself, and leaves a connection alone while its answer is worked out. So
// nothing of a connection needs a lock, and no peer can make a thread wait.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <thread>
#include <vector>

#include "base/asio.hpp"

namespace ddprun {

/// How many threads help an event loop on a machine with that many CPUs. The loop has one of them,
/// and workers have a use for the others, too.
int handshake_threads(int cpus);

class HandshakePool {
 public:
  /// With no threads the caller of run() works. The threads begin with the first work, and take no
  /// signals.
  explicit HandshakePool(int threads);
  /// Waits for what is being worked out, and drops what is not yet. The event loops of the callers
  /// must still be there.
  ~HandshakePool();
  HandshakePool(const HandshakePool&) = delete;
  HandshakePool& operator=(const HandshakePool&) = delete;

  /// Has a thread call `work`, and goes on in the caller's event loop, where an exception of `work`
  /// is thrown on. When kQueueMax pieces wait for each thread, or the system has no threads left,
  /// the caller does the work at once.
  asio::awaitable<void> run(std::function<void()> work);

  static constexpr int kQueueMax = 256;  // pieces for each thread, with the one that it works at

 private:
  void begin();

  int size_;                    // how many threads there are to be
  std::atomic<int> pieces_{0};  // that wait, or are being done
  asio::io_context queue_;
  asio::executor_work_guard<asio::io_context::executor_type> open_{queue_.get_executor()};
  std::vector<std::thread> threads_;
};

}  // namespace ddprun
