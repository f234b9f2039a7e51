// Asks an HttpServer, or another server of HTTP, one question.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "live/http/http_server.hpp"

namespace ddprun {

struct HttpQuestion {
  std::string method = "GET";
  std::string target = "/";
  std::string host = "localhost";
};

/// An answer as it came.
struct HttpHeard {
  unsigned status = 0;
  std::string body;
};

/// What a client accepts of an answer's body.
inline constexpr std::size_t kHttpHeardBytesMax = 4 * 1024 * 1024;

/// Connects over TCP. Errors: kUnavailable and kTimeout, which name the endpoint.
asio::awaitable<Result<HttpSocket>> connect_http(Endpoint endpoint,
                                                 std::chrono::milliseconds timeout);

/// Asks over a connection, and reads the whole answer, whose body has at most `bytes_max` bytes.
/// Errors: kTimeout, and kUnavailable when the connection ends or what comes is no HTTP.
asio::awaitable<Result<HttpHeard>> ask_http(HttpSocket socket, HttpQuestion question,
                                            std::chrono::milliseconds timeout,
                                            std::size_t bytes_max = kHttpHeardBytesMax);

/// As above, for a body that goes on, until the server or `hear` ends it: `hear` gets each piece,
/// and returns whether it wants more. Only the first piece has a deadline. The body that is
/// returned is empty, unless the status is not 200.
asio::awaitable<Result<HttpHeard>> follow_http(HttpSocket socket, HttpQuestion question,
                                               std::chrono::milliseconds timeout,
                                               std::function<bool(std::string_view)> hear);

}  // namespace ddprun
