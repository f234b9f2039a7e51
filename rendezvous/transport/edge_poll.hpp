// EdgePoll tells which of many sockets are ready, a batch at a time.
//
// The event loop completes one operation of one socket at a time, and its bookkeeping for that
// takes longer than the store takes for a small request. So the store's sockets stand in an epoll
// set of their own, and the event loop waits for the set (epoll(7): a set can itself be polled).
// The set is edge-triggered: it tells of each change once.
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

}  // namespace ddprun
