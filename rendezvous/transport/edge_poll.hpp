// Sockets of which many are watched at once, in batches: EdgePoll tells which are ready, and
// EdgeSocket reads and writes without waiting.
#pragma once

#include <sys/epoll.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace ddprun {

/// EdgePoll tells which of many sockets are ready, a batch at a time.
///
/// The event loop completes one operation of one socket at a time, and its bookkeeping for that
/// takes longer than the store takes for a small request. So the store's sockets stand in an epoll
/// set of their own, and the event loop waits for the set (epoll(7): a set can itself be polled).
/// The set is edge-triggered: it tells of each change once.
class EdgePoll {
 public:
  explicit EdgePoll(const boost::asio::any_io_executor& executor) : set_{executor} {}

  /// Adds `socket` to the set; its events bear `tag`. The first event comes at once, because a new
  /// socket can be written to. Returns false when the system refuses; errno says why.
  bool watch(int socket, std::uint64_t tag);

  /// Takes `socket` out of the set; nothing happens when it is not in it. To be called before the
  /// socket is closed: a child process that still holds it would keep it in the set.
  void forget(int socket);

  /// Whether no socket is watched, so that there is nothing to wait for.
  bool empty() const { return watched_ == 0; }

  /// Fills `events` with what is new and returns those that it filled. It never waits.
  std::span<const epoll_event> take(std::span<epoll_event> events);

  /// Calls `handler` with an error code, once, when there is something to take or after cancel().
  template <typename Handler>
  void async_wait(Handler&& handler) {
    set_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    std::forward<Handler>(handler));
  }

  /// Ends the pending wait, if there is one.
  void cancel();

 private:
  boost::asio::posix::stream_descriptor set_;
  std::size_t watched_ = 0;
};

/// EdgeSocket: a TCP socket that an EdgePoll watches.
///
/// It never waits. The poll tells of each change only once (edge-triggered, epoll(7)), so an
/// EdgeSocket remembers that it can be read or written until a call finds that it no longer can.
class EdgeSocket {
 public:
  /// Takes over `socket`, a connected one, and closes it at its own end.
  explicit EdgeSocket(int socket);
  EdgeSocket(const EdgeSocket&) = delete;
  EdgeSocket& operator=(const EdgeSocket&) = delete;
  ~EdgeSocket();

  /// Remembers what the poll has reported: EPOLLIN, EPOLLOUT and the like.
  void notice(std::uint32_t events);

  /// Reads into `buffer`, which is not empty, and returns how many bytes it read; 0 when none are
  /// there or the peer is gone().
  std::size_t receive(std::span<char> buffer);

  /// Sends as many of `bytes` as the socket takes now, and returns their number.
  std::size_t send(std::string_view bytes);

  bool readable() const { return readable_; }
  bool writable() const { return writable_; }

  /// Whether the peer has closed or broken off the connection, and all it sent has been read.
  bool gone() const { return gone_; }

  int descriptor() const { return socket_; }

 private:
  const int socket_;
  bool readable_ = false;
  bool writable_ = true;
  bool hung_up_ = false;  // the peer sends no more, but what it has sent may not have been read
  bool gone_ = false;
};

}  // namespace ddprun
