// EdgePoll: which of many sockets are ready, a batch at a time.
//
// The event loop completes one operation of one socket at a time, and its bookkeeping for it takes
// longer than the store takes for a small request. So the store's sockets stand in an epoll set of
// their own, and the event loop waits for the set (epoll(7): a set can itself be polled). It is
// edge-triggered: an event tells that something is new, once.
#pragma once

#include <sys/epoll.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace ddprun {

class EdgePoll {
 public:
  explicit EdgePoll(const boost::asio::any_io_executor& executor) : set_{executor} {}

  /// Events of `socket` bear `tag`; the first comes at once, as a new socket can be written to.
  /// False: the system refuses, and errno says why.
  bool watch(int socket, std::uint64_t tag);

  /// Before a socket is closed: a child process may still hold it, and so keep it in the set. One
  /// that is not watched may be forgotten, too.
  void forget(int socket);

  /// No socket is watched: there is nothing to wait for.
  bool empty() const { return watched_ == 0; }

  /// Those of `events` that could be filled; never waits.
  std::span<const epoll_event> take(std::span<epoll_event> events);

  /// Calls `handler` with an error code when there is something to take, or after cancel().
  template <typename Handler>
  void async_wait(Handler&& handler) {
    set_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    std::forward<Handler>(handler));
  }
  void cancel();

 private:
  boost::asio::posix::stream_descriptor set_;
  std::size_t watched_ = 0;
};

}  // namespace ddprun
