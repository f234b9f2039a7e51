// One connection between an agent and the coordinator: lines out, lines in, each with a limit; and,
// between the lines, the frames of a tunnel.
//
// A Channel is shared by the coroutine that reads it and whoever sends; it never outlives its
// io_context. What the lines mean is messages.hpp's business, what the frames mean TunnelEnd's.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/wire/tunnel_frame.hpp"

namespace ddprun {

inline constexpr std::size_t kOutboxBytesMax = 4 * 1024 * 1024;

/// One end of a tunnel: what sends and takes the frames of a channel.
class TunnelEnd {
 public:
  TunnelEnd() = default;
  TunnelEnd(const TunnelEnd&) = delete;
  TunnelEnd& operator=(const TunnelEnd&) = delete;
  virtual ~TunnelEnd() = default;

  /// An error ends the connection.
  virtual Result<void> receive(const TunnelFrame& frame) = 0;

  /// All frames that had arrived have been given to receive().
  virtual void received_all() = 0;

  /// Appends frames that wait to be sent, until about `bytes_max` are there.
  virtual void fill(std::string& out, std::size_t bytes_max) = 0;
};

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  /// `already_read`: bytes of the stream that the caller took from the socket to look at.
  explicit Channel(asio::ip::tcp::socket socket, std::string already_read = {});

  /// Queues a line (with its newline); lines leave in order. A peer that lets kOutboxBytesMax pile
  /// up is not reading: the connection is closed.
  void send(std::string_view line);

  /// The next line without its newline; meanwhile frames go to the tunnel. Errors: kUnavailable
  /// when the peer is gone or close() was called, kInvalid for a line longer than kLineBytesMax and
  /// for frames that nobody expects.
  asio::awaitable<Result<std::string>> receive();

  /// Frames go to and come from `tunnel` from now on; nullptr: there are none.
  void carry(TunnelEnd* tunnel);

  /// The tunnel has frames. It is asked for them soon, together with those that it will have by
  /// then, and not for more at a time than delays a line by little.
  void frames_wait();

  /// Closes once every line queued is sent; receive() returns an error.
  void close_when_sent();
  void close();

  /// The peer's address and port in numbers: names are never looked up.
  const std::string& peer() const { return peer_; }
  const asio::ip::address& address() const { return address_; }

 private:
  void write_next();
  void take();
  void deal_with(std::string_view bytes);
  Result<std::size_t> cut(std::string_view bytes);
  Result<std::size_t> hand_over_frame(std::string_view bytes);
  Result<std::size_t> queue_line(std::string_view bytes);

  asio::ip::tcp::socket socket_;
  std::string peer_;
  asio::ip::address address_;
  TunnelEnd* tunnel_ = nullptr;

  std::string inbox_;              // the beginning of a line or a frame
  std::size_t line_searched_ = 0;  // of that line, for its end
  std::list<std::string> lines_;   // mostly none: takes no memory then
  std::optional<Error> broken_;    // nothing that follows makes sense

  std::string outbox_;   // lines queued
  std::string sending_;  // being written; empty: nothing is
  bool frames_wait_ = false;
  bool closing_ = false;
};

}  // namespace ddprun
