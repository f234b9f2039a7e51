// Console: ddprun's own standard output or error, written to without ever blocking the event loop.
//
// What is written leaves in order. A reader that is slow (a paused pager, a frozen terminal) makes
// room() wait, which slows down whoever asks for it and nobody else; nothing is thrown away as long
// as the reader is there.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <string_view>

#include "rendezvous/channel.hpp"

namespace ddprun {

class Console {
 public:
  static constexpr std::size_t kQueueBytesMax = 1024 * 1024;

  Console(const asio::any_io_executor& executor, int fd);

  void write(std::string_view bytes);

  /// Resolves when less than kQueueBytesMax is queued.
  asio::awaitable<void> room();

  /// Writes what is still queued, however long the reader takes: for the end of the program, when
  /// nothing is left to supervise and signals have their default effect again.
  void flush_blocking();

 private:
  asio::awaitable<void> write_queue();
  bool write_some();

  int fd_;
  bool pollable_ = false;  // a pipe, terminal or socket, not a file
  asio::posix::stream_descriptor descriptor_;
  std::string queue_;
  bool writing_ = false;
  bool reader_gone_ = false;
  asio::steady_timer progress_;  // its waiters are woken by every write
};

}  // namespace ddprun
