// EdgeSocket: a TCP socket that an EdgePoll watches.
//
// It never waits. The poll tells of each change only once (edge-triggered, epoll(7)), so an
// EdgeSocket remembers that it can be read or written until a call finds that it no longer can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ddprun {

class EdgeSocket {
 public:
  /// Takes over `socket`, a connected one, and closes it at its own end.
  explicit EdgeSocket(int socket);
  EdgeSocket(const EdgeSocket&) = delete;
  EdgeSocket& operator=(const EdgeSocket&) = delete;
  ~EdgeSocket();

  /// Remembers what the poll has told: EPOLLIN, EPOLLOUT and the like.
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
