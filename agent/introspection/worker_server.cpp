#include "agent/introspection/worker_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

namespace ddprun {

namespace {

namespace http = boost::beast::http;
using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using Socket = asio::local::stream_protocol::socket;

Error unavailable(const boost::system::error_code& error) {
  return {Error::Kind::kUnavailable, "the worker's server: " + error.message()};
}

/// Without the length the server waits five seconds for a body.
http::request<http::empty_body> request_for(const std::string& name) {
  http::request<http::empty_body> request{http::verb::post, "/handler/" + name, 11};
  request.set(http::field::host, "worker");
  request.set(http::field::connection, "close");
  request.set(http::field::content_length, "0");
  return request;
}

asio::awaitable<Result<std::string>> exchange(Socket& socket, std::filesystem::path path,
                                              std::string name) {
  const asio::local::stream_protocol::endpoint endpoint{path.string()};
  const auto [refused] = co_await socket.async_connect(endpoint, as_tuple(use_awaitable));
  if (refused) co_return unavailable(refused);
  const auto request = request_for(name);
  const auto [unsent, sent] = co_await http::async_write(socket, request, as_tuple(use_awaitable));
  if (unsent) co_return unavailable(unsent);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMax);
  const auto [unread, read] =
      co_await http::async_read(socket, buffer, parser, as_tuple(use_awaitable));
  if (unread) co_return unavailable(unread);
  auto response = parser.release();
  if (response.result() == http::status::not_found)
    co_return Error{Error::Kind::kNotFound, "the worker's server has no '" + name + "'"};
  if (response.result() != http::status::ok)
    co_return Error{Error::Kind::kUnavailable,
                    "the worker's server answers " + std::to_string(response.result_int())};
  co_return std::move(response.body());
}

}  // namespace

asio::awaitable<Result<std::string>> ask_worker(std::filesystem::path socket, std::string name,
                                                std::chrono::milliseconds patience) {
  const auto executor = co_await asio::this_coro::executor;
  Socket connection{executor};
  asio::steady_timer deadline{executor, patience};
  auto answer = exchange(connection, std::move(socket), name);
  // As an error, and not as an exception: it is cancelled whenever there is an answer.
  auto late = deadline.async_wait(as_tuple(use_awaitable));
  auto first = co_await (std::move(answer) || std::move(late));
  if (first.index() == 1)
    co_return Error{Error::Kind::kTimeout, "the worker's server did not answer '" + name + "'"};
  co_return std::move(std::get<0>(first));
}

}  // namespace ddprun
