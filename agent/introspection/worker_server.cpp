#include "agent/introspection/worker_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "live/http/http_client.hpp"

namespace ddprun {

namespace {

Error server_error(Error::Kind kind, const std::string& what) {
  return {kind, "the worker's server: " + what};
}

}  // namespace

asio::awaitable<Result<std::string>> ask_worker(std::filesystem::path socket, std::string name,
                                                std::chrono::milliseconds patience) {
  asio::local::stream_protocol::socket connection{co_await asio::this_coro::executor};
  const asio::local::stream_protocol::endpoint endpoint{socket.string()};
  // On one machine this does not wait: where the backlog is full, it fails at once.
  const auto [refused] =
      co_await connection.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
  if (refused) co_return server_error(Error::Kind::kUnavailable, refused.message());
  HttpSocket stream{std::move(connection)};
  // A POST needs a length: without it the server waits five seconds for a body.
  HttpQuestion question{.method = "POST", .target = "/handler/" + name, .host = "worker"};
  auto heard = co_await ask_http(std::move(stream), std::move(question), patience, kAnswerBytesMax);
  if (!heard) co_return server_error(heard.error().kind, heard.error().message);
  if (heard->status == 404)
    co_return server_error(Error::Kind::kNotFound, "it has no '" + name + "'");
  if (heard->status != 200)
    co_return server_error(Error::Kind::kUnavailable,
                           "it answers " + std::to_string(heard->status));
  co_return std::move(heard->body);
}

}  // namespace ddprun
