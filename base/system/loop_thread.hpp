// LoopThread runs an event loop in a thread of its own.
//
// The coordinator of several nodes has one. The agent beside it writes log files and starts
// processes, and waits as long as a disk that hangs; the other nodes must not miss a heartbeat
// meanwhile. A node that sends gigabytes to others has one, too.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <semaphore>
#include <thread>

#include "base/asio.hpp"

namespace ddprun {

class LoopThread {
 public:
  /// Starts the thread, which runs `loop` also while nothing is to be done in it. Signals are
  /// handled by the other threads. An exception that leaves the loop ends it, and is thrown on in
  /// `home`, its maker's loop. Both must live longer.
  LoopThread(asio::io_context& loop, asio::any_io_executor home);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Waits until nothing is left to be done in the loop, but no longer than `at_most`, and ends the
  /// thread.
  void end_within(std::chrono::milliseconds at_most);

 private:
  void run();

  asio::io_context& loop_;
  const asio::any_io_executor home_;
  asio::executor_work_guard<asio::io_context::executor_type> goes_on_;
  std::binary_semaphore ended_{0};
  std::thread thread_;
};

}  // namespace ddprun
