// One connection between an agent and the coordinator: lines out, lines in, each with a limit.
//
// A Channel is shared by the coroutine that reads it and whoever sends; it never outlives its
// io_context. What the lines mean is messages.hpp's business.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/result.hpp"

namespace ddprun {

namespace asio = boost::asio;

inline constexpr std::size_t kOutboxBytesMax = 4 * 1024 * 1024;

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  /// `already_read`: bytes of the stream that the caller took from the socket to look at.
  explicit Channel(asio::ip::tcp::socket socket, std::string already_read = {});

  /// Queues a line (with its newline); lines leave in order. A peer that lets kOutboxBytesMax pile
  /// up is not reading: the connection is closed.
  void send(std::string_view line);

  /// The next line without its newline. Errors: kUnavailable when the peer is gone or close() was
  /// called, kInvalid for a line longer than kLineBytesMax.
  asio::awaitable<Result<std::string>> receive();

  /// Closes once everything queued is sent; receive() returns an error.
  void close_when_sent();
  void close();

  /// The peer's address and port in numbers: names are never looked up.
  const std::string& peer() const { return peer_; }
  const asio::ip::address& address() const { return address_; }

 private:
  void write_next();

  asio::ip::tcp::socket socket_;
  std::string peer_;
  asio::ip::address address_;
  std::string inbox_;
  std::string outbox_;   // queued
  std::string sending_;  // being written
  bool closing_ = false;
};

}  // namespace ddprun
