// EdgeSocket: a TCP socket in a EdgePoll, and what epoll has told of it.
//
// It never waits. As the poll tells of news only once (edge-triggered, epoll(7)), it is remembered
// here until a call has found that there is no more of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ddprun {

class EdgeSocket {
 public:
  /// `socket` is this object's to close.
  explicit EdgeSocket(int socket);
  EdgeSocket(const EdgeSocket&) = delete;
  EdgeSocket& operator=(const EdgeSocket&) = delete;
  ~EdgeSocket();

  /// What epoll has told.
  void notice(std::uint32_t events);

  /// How many bytes have been put into `room`; 0: none are there, or gone().
  std::size_t receive(std::span<char> room);

  /// How many of `bytes` the socket takes.
  std::size_t send(std::string_view bytes);

  bool readable() const { return readable_; }
  bool writable() const { return writable_; }

  /// The peer has closed the connection, or broke it off.
  bool gone() const { return gone_; }

  int descriptor() const { return socket_; }

 private:
  const int socket_;
  bool readable_ = false;
  bool writable_ = true;
  bool hung_up_ = false;  // the peer sends no more, but what it sent may not have been read
  bool gone_ = false;
};

}  // namespace ddprun
