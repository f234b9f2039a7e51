// TimerPipe: the named pipe (fifo(7)) through which this node's workers set timers for themselves,
// as torchrun has one where TORCHELASTIC_ENABLE_FILE_TIMER is 1. See timer_table.hpp.
//
// One thread, that of the event loop, calls it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "agent/timers/timer_table.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

class TimerPipe {
 public:
  using Listener = std::function<void(const ExpiredTimer&)>;

  /// Until make() there is no pipe, and no timer.
  explicit TimerPipe(const asio::any_io_executor& executor);
  TimerPipe(const TimerPipe&) = delete;
  ~TimerPipe();  // removes the pipe

  /// Makes it at `wanted`, for this user alone. Where that is "", or something is there already
  /// that is no abandoned pipe of this user, it gets a fresh name in `temporary_directory`. Once
  /// only. Errors: kUnavailable.
  Result<void> make(const std::string& wanted, const std::string& temporary_directory);

  const std::string& path() const { return path_; }

  /// Reads the pipe from now on, and tells of each timer that expires. Once only.
  void listen(Listener expired);

  /// Forgets the timers of the last round's workers.
  void forget();

  /// Ends what listen() has begun.
  void close();

 private:
  asio::awaitable<void> read();
  asio::awaitable<void> keep_time();
  void drain();
  void set_alarm();

  std::string path_;
  asio::posix::stream_descriptor pipe_;
  asio::steady_timer alarm_;
  TimerTable table_;
  Listener expired_;
};

}  // namespace ddprun
