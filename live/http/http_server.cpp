#include "live/http/http_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "base/coroutines.hpp"
#include "live/http/http_reading.hpp"

namespace ddprun {

using asio::as_tuple;
using asio::use_awaitable;
namespace http = boost::beast::http;

struct HttpServer::State {
  asio::any_io_executor executor;
  HttpLimits limits;
  Handler handler;
  std::set<HttpSocket*> open;
  std::set<HttpStream*> streams;  // that go on
  bool closed = false;

  /// A connection's place among those that are open.
  class Place {
   public:
    Place(std::set<HttpSocket*>& open, HttpSocket* socket) : open_{open}, socket_{socket} {
      open_.insert(socket_);
    }
    ~Place() { open_.erase(socket_); }
    Place(const Place&) = delete;

   private:
    std::set<HttpSocket*>& open_;
    HttpSocket* socket_;
  };
};

namespace {

using Parser = http::request_parser<http::string_body>;

/// Why a request could not be read; 0: the client is gone.
unsigned status_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  if (error.category() == make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return 400;
  return 0;
}

/// Reads a request. The status is 0 when it is well-formed, and unset when the peer has gone.
asio::awaitable<std::optional<unsigned>> hear(HttpSocket& socket, const HttpLimits& limits,
                                              Parser& parser) {
  parser.header_limit(limits.header_bytes_max);
  parser.body_limit(limits.body_bytes_max);
  HttpBuffer buffer{limits.header_bytes_max + limits.body_bytes_max};
  const ReadSome read = reading_of(socket);
  auto reading = read_request(read, buffer, parser);
  const auto error = co_await in_time(Clock::now() + limits.request_timeout, std::move(reading));
  if (!error) co_return 408U;
  if (!*error) co_return 0U;
  const unsigned status = status_of(*error);
  co_return status == 0 ? std::nullopt : std::optional{status};
}

std::optional<HttpRequest> request_of(Parser& parser) {
  auto& message = parser.get();
  const auto target = message.target();
  auto request = parse_target({target.data(), target.size()});
  if (!request) return std::nullopt;
  request->method = std::string{message.method_string()};
  request->host = std::string{message[http::field::host]};
  request->authorization = std::string{message[http::field::authorization]};
  request->body = std::move(message.body());
  return request;
}

/// The first part of an answer: the headers, and the body unless more comes.
std::string head_of(const HttpReply& reply) {
  http::response<http::string_body> response{http::int_to_status(reply.answer.status), 11};
  response.set(http::field::content_type, reply.answer.type);
  response.set(http::field::connection, "close");
  response.set("X-Content-Type-Options", "nosniff");
  response.set(http::field::cache_control, "no-store");
  for (const auto& [name, value] : reply.answer.headers) response.set(name, value);
  if (!reply.more) response.content_length(reply.answer.body.size());
  std::string text = (std::ostringstream{} << response.base()).str();
  return text + reply.answer.body;
}

}  // namespace

asio::awaitable<bool> HttpStream::write(std::string bytes) {
  auto writing = asio::async_write(socket_, asio::buffer(bytes), as_tuple(use_awaitable));
  const auto sent = co_await in_time(Clock::now() + limits_.write_timeout, std::move(writing));
  const bool written = sent && !std::get<0>(*sent);
  if (last_.empty()) co_return written;
  if (written) say_last(last_);
  co_return false;
}

/// Says what is taken without delay, and closes the connection.
void HttpStream::say_last(const std::string& words) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.write_some(asio::buffer(words), ignored);
  socket_.close(ignored);
}

/// A peer has nothing more to say, so anything that can be read is its end.
asio::awaitable<bool> HttpStream::pause(std::chrono::milliseconds time) {
  auto going = socket_.async_wait(HttpSocket::wait_read, as_tuple(use_awaitable));
  waits_ = true;
  const auto gone = co_await in_time(Clock::now() + time, std::move(going));
  waits_ = false;
  co_return !gone && socket_.is_open();
}

HttpServer::HttpServer(asio::any_io_executor executor, HttpLimits limits, Handler handler)
    : state_{std::make_shared<State>(
          State{std::move(executor), limits, std::move(handler), {}, {}, false})} {}

void HttpServer::serve(HttpSocket socket) {
  if (state_->closed || state_->open.size() >= state_->limits.connections_max) return;
  start_coroutine(state_->executor, talk(state_, std::move(socket)),
                  give_up_peer("somebody over HTTP"));
}

void HttpServer::close(const std::string& last_words) {
  state_->closed = true;
  boost::system::error_code ignored;
  std::set<HttpSocket*> busy;
  for (HttpStream* const stream : state_->streams) {
    if (last_words.empty()) break;
    if (stream->waits_) {
      stream->say_last(last_words);
    } else {
      stream->last_ = last_words;
      busy.insert(&stream->socket_);
    }
  }
  for (HttpSocket* const socket : state_->open)
    if (!busy.contains(socket)) socket->close(ignored);
}

asio::awaitable<void> HttpServer::talk(std::shared_ptr<State> state, HttpSocket socket) {
  const State::Place place{state->open, &socket};
  Parser parser;
  const auto refused = co_await hear(socket, state->limits, parser);
  if (!refused || state->closed) co_return;  // whose handler may be gone with the server
  HttpReply reply;
  auto request = *refused == 0 ? request_of(parser) : std::nullopt;
  if (request) {
    reply = co_await state->handler(std::move(*request));
  } else {
    reply.answer =
        http_sentence(*refused == 0 ? 400 : *refused, "this is no request that is answered here");
  }
  if (!state->closed) co_await answer(*state, socket, reply);
}

asio::awaitable<void> HttpServer::answer(State& state, HttpSocket& socket, const HttpReply& reply) {
  HttpStream stream{socket, state.limits};
  const bool written = co_await stream.write(head_of(reply));
  if (!written) co_return;
  if (reply.more) {
    state.streams.insert(&stream);
    co_await reply.more(stream);
    state.streams.erase(&stream);
  }
  boost::system::error_code ignored;
  socket.shutdown(HttpSocket::shutdown_send, ignored);
}

}  // namespace ddprun
