// HttpServer answers what comes over connections that others accept: on a private Unix socket, on
// loopback, or on a network. Each connection is for one request.
//
// No client is trusted: requests have limits and a deadline, connections are counted, and who does
// not read his answer is given up. What an answer is, a handler decides.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "live/http/http_text.hpp"

namespace ddprun {

/// A connection over TCP or a Unix socket.
using HttpSocket = asio::generic::stream_protocol::socket;

struct HttpLimits {
  std::uint32_t header_bytes_max = 8 * 1024;
  std::uint64_t body_bytes_max = 64 * 1024;
  std::size_t connections_max = 64;                   // beyond it, a new one is closed at once
  std::chrono::milliseconds request_timeout{10'000};  // from the connection to the whole request
  std::chrono::milliseconds write_timeout{30'000};    // for each piece of the answer
};

/// The rest of an answer that goes on: events, or a log that is followed.
class HttpStream {
 public:
  /// Sends more. false: the peer has gone, or does not read.
  asio::awaitable<bool> write(std::string bytes);
  /// Waits. false: the peer has gone meanwhile, or the server is being closed.
  asio::awaitable<bool> pause(std::chrono::milliseconds time);

 private:
  friend class HttpServer;
  HttpStream(HttpSocket& socket, const HttpLimits& limits) : socket_{socket}, limits_{limits} {}
  HttpSocket& socket_;
  const HttpLimits& limits_;
  void say_last(const std::string& words);
  bool waits_ = false;     // in pause()
  std::string last_ = {};  // to be said when what is being written has been
};

/// What a handler returns: an answer with all of its body, or with what comes after the body so
/// far. The connection's end is that of the body then.
struct HttpReply {
  HttpAnswer answer;
  std::function<asio::awaitable<void>(HttpStream&)> more = {};
};

class HttpServer {
 public:
  using Handler = std::function<asio::awaitable<HttpReply>(HttpRequest)>;

  /// `handler` is called for each request that is well-formed; it may be called again before it has
  /// answered.
  HttpServer(asio::any_io_executor executor, HttpLimits limits, Handler handler);
  HttpServer(const HttpServer&) = delete;
  ~HttpServer() { close(); }

  /// Answers over a connection, and closes it.
  void serve(HttpSocket socket);

  /// Closes all connections, and takes no more. Answers in progress send `last_words` before, as
  /// far as their peers take them without delay. Running handlers end by themselves.
  void close(const std::string& last_words = "");

 private:
  struct State;
  static asio::awaitable<void> talk(std::shared_ptr<State> state, HttpSocket socket);
  static asio::awaitable<void> answer(State& state, HttpSocket& socket, const HttpReply& reply);

  std::shared_ptr<State> state_;
};

}  // namespace ddprun
