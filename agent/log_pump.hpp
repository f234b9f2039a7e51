// LogPump: one stream of one worker, from its pipe to ddprun's own output, and the tail of it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "agent/console.hpp"
#include "agent/line_buffer.hpp"
#include "agent/output_tail.hpp"

namespace ddprun {

class LogPump : public std::enable_shared_from_this<LogPump> {
 public:
  /// `console` must outlive the pump. Errors: kUnavailable, when no pipe can be made.
  static Result<std::shared_ptr<LogPump>> open(const asio::any_io_executor& executor,
                                               Console& console);

  /// The end that the worker writes to; closed by start().
  int worker_end() const { return worker_end_; }

  /// Begins to pump; call it when the worker has its end.
  void start();

  /// Reads all that has been written so far, and passes it on including an unfinished line. Called
  /// when the worker has ended, so that every byte is out before anybody speaks of its end.
  void drain();

  /// Drains and closes: nobody has the worker's end any more, or nobody shall be heard any more.
  void close();

  const OutputTail& tail() const { return tail_; }

  ~LogPump();

 private:
  LogPump(const asio::any_io_executor& executor, Console& console, int read_end, int worker_end);

  asio::awaitable<void> pump();
  asio::awaitable<void> pass_on_when_idle();
  enum class ReadResult { kData, kNothingNow, kEnd };
  ReadResult read_some();

  asio::posix::stream_descriptor pipe_;
  int worker_end_;
  Console& console_;
  LineBuffer lines_;
  OutputTail tail_;
  asio::steady_timer idle_;
};

}  // namespace ddprun
