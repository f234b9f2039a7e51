// Channel: one connection between an agent and the coordinator. It carries lines in both
// directions, each with a limit, and between the lines the frames of a tunnel; all of it inside TLS
// where the job has a secret.
//
// The coroutine that reads a Channel shares it with its senders; it never outlives its io_context.
// messages.hpp knows what the lines mean, and a TunnelEnd what the frames mean.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/tunnel_frame.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

class HandshakePool;

/// At most this many bytes of lines may wait behind those that are being written.
inline constexpr std::size_t kOutboxBytesMax = 4 * 1024 * 1024;

/// The last lines to a peer may take this long.
inline constexpr std::chrono::seconds kLastWordsTimeout{10};

/// One end of a tunnel: it takes the frames that a channel receives, and has frames to send.
class TunnelEnd {
 public:
  TunnelEnd() = default;
  TunnelEnd(const TunnelEnd&) = delete;
  TunnelEnd& operator=(const TunnelEnd&) = delete;
  virtual ~TunnelEnd() = default;

  /// Takes one frame, whose payload is valid during the call only. An error ends the connection.
  virtual Result<void> receive(const TunnelFrame& frame) = 0;

  /// Called when all frames that had arrived have been given to receive(), so that what they
  /// caused can be sent together.
  virtual void received_all() = 0;

  /// Appends frames that wait to be sent, until about `bytes_max` are there.
  virtual void fill(std::string& out, std::size_t bytes_max) = 0;
};

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  /// Takes over a connected `socket`. With `tls` the stream is that session's.
  explicit Channel(asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> tls = nullptr);

  /// Waits until the handshake of TLS has ended; without TLS there is none. Only the end that
  /// connects needs it, before anything else: the other one's receive() does the same on the way.
  /// The end of that handshake leaves with the first line, or when receive() is called: one packet
  /// takes both, and wakes the coordinator once. Threads of a `pool`, which has to live as long,
  /// work the handshake out; meanwhile the channel may be closed, and nothing else. Errors: those
  /// of TlsSession::read(), and kUnavailable when the peer is gone.
  asio::awaitable<Result<void>> secure(HandshakePool* pool = nullptr);

  /// The job whose key the peer has proven to have; "" without TLS, and before that.
  std::string proven_run_id() const { return tls_ ? tls_->run_id() : ""; }

  /// From now on lines of the peer may have at most `bytes_max` bytes with their newline; at first
  /// it is kLineBytesMax. What was read in one go with a line that was received counts as before.
  void limit_lines(std::size_t bytes_max) { line_bytes_max_ = bytes_max; }

  /// Queues `line`, which ends with its newline; lines leave in order. When more than
  /// kOutboxBytesMax are queued the peer is not reading, and the connection is closed; so it is
  /// when there is no memory. After close() and close_when_sent() the line is dropped.
  void send(std::string_view line);

  /// Waits for the next line, and returns it without its newline; meanwhile frames go to the
  /// tunnel. Errors: kUnavailable when the peer is gone or close() was called; kInvalid when a line
  /// is too long, and for unexpected frames; with TLS, those of TlsSession::read().
  asio::awaitable<Result<std::string>> receive();

  /// From now on frames go to and come from `tunnel`, which must live until another is set.
  /// nullptr: a frame from the peer is an error again.
  void carry(TunnelEnd* tunnel);

  /// Says that the tunnel has frames to send. The channel asks for them on the next turn of the
  /// event loop, so that frames of many clients go out in one write, and takes so few at a time
  /// that a line which is queued meanwhile waits for about a millisecond.
  void frames_wait();

  /// Closes the connection once every queued line is sent, or after `at_most` when the peer does
  /// not take them. Then receive() returns an error.
  void close_when_sent(std::chrono::milliseconds at_most = kLastWordsTimeout);

  /// Closes the connection at once; what is queued is lost.
  void close();

  /// The peer's address and port, as "10.0.0.1:29400". They are numbers because looking up a name
  /// could block.
  const std::string& peer() const { return peer_; }

  /// The peer's address.
  const asio::ip::address& address() const { return address_; }

  /// Whether both ends have the same address, so that the peer is on this machine.
  bool is_local() const { return is_local_; }

 private:
  void write_next();
  bool seal();
  std::string_view read_available(std::span<char> into);
  void take_available();
  asio::awaitable<void> take_available(HandshakePool& pool);
  void take(std::string_view bytes);
  void unseal();
  void say_what_waits();
  void say_why();
  void consume(std::string_view bytes);
  Result<std::size_t> parse(std::string_view bytes);
  Result<std::size_t> hand_over_frame(std::string_view bytes);
  Result<std::size_t> queue_line(std::string_view bytes);

  asio::ip::tcp::socket socket_;
  std::string peer_;
  asio::ip::address address_;
  bool is_local_ = false;
  TunnelEnd* tunnel_ = nullptr;
  std::unique_ptr<TlsSession> tls_;  // nullptr: the stream is as it is

  std::string inbox_;  // the beginning of a line or a frame that has not all come
  std::size_t line_bytes_max_ = kLineBytesMax;
  std::size_t line_searched_ = 0;  // bytes of that line that have no newline
  std::list<std::string> lines_;   // a list takes no memory while it is empty, the usual case
  std::optional<Error> broken_;    // why nothing that follows in the stream makes sense

  std::string outbox_;                              // the lines that are queued
  std::string sending_;                             // the bytes being written; empty while none are
  bool frames_wait_ = false;                        // the tunnel will be asked for its frames
  bool closing_ = false;                            // close_when_sent() was called
  std::unique_ptr<asio::steady_timer> last_words_;  // runs while the peer may still take them
};

}  // namespace ddprun
