#include "live/http/http_client.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <sstream>
#include <utility>

#include "base/coroutines.hpp"
#include "base/lookup_error.hpp"
#include "live/http/http_reading.hpp"

namespace ddprun {

namespace {

namespace client_http = boost::beast::http;
using asio::ip::tcp;
using ResponseParser = client_http::response_parser<client_http::string_body>;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

Error no_answer() { return {Error::Kind::kTimeout, "there is no answer"}; }
Error cut_off(const boost::system::error_code& why) {
  return {Error::Kind::kUnavailable, "the answer ends early: " + why.message()};
}

asio::awaitable<boost::system::error_code> say(HttpSocket& socket, const HttpQuestion& question) {
  client_http::request<client_http::empty_body> request{
      client_http::string_to_verb(question.method), question.target, 11};
  request.set(client_http::field::host, question.host);
  request.set(client_http::field::connection, "close");
  request.prepare_payload();
  const std::string text = (std::ostringstream{} << request.base()).str();
  const auto [error, bytes] = co_await asio::async_write(socket, asio::buffer(text), kQuietly);
  co_return error;
}

/// Asks, and reads until the headers of the answer are there.
asio::awaitable<boost::system::error_code> say_and_read_header(HttpSocket& socket,
                                                               const HttpQuestion& question,
                                                               HttpBuffer& buffer,
                                                               ResponseParser& parser) {
  const auto unsaid = co_await say(socket, question);
  if (unsaid) co_return unsaid;
  const ReadSome read = reading_of(socket);
  const auto error = co_await read_header(read, buffer, parser);
  co_return error;
}

asio::awaitable<Result<HttpHeard>> read_rest(HttpSocket& socket, HttpBuffer& buffer,
                                             ResponseParser& parser, TimePoint deadline) {
  const ReadSome read = reading_of(socket);
  auto reading = read_response(read, buffer, parser);
  const auto error = co_await in_time(deadline, std::move(reading));
  if (!error) co_return no_answer();
  if (*error) co_return cut_off(*error);
  co_return HttpHeard{parser.get().result_int(), std::move(parser.get().body())};
}

/// Asks the question, and hears how the answer begins.
asio::awaitable<Result<void>> hear_beginning(HttpSocket& socket, const HttpQuestion& question,
                                             HttpBuffer& buffer, ResponseParser& parser,
                                             TimePoint deadline) {
  auto beginning = say_and_read_header(socket, question, buffer, parser);
  const auto begun = co_await in_time(deadline, std::move(beginning));
  if (!begun) co_return no_answer();
  if (*begun) co_return cut_off(*begun);
  co_return Result<void>{};
}

}  // namespace

asio::awaitable<Result<HttpSocket>> connect_http(Endpoint endpoint,
                                                 std::chrono::milliseconds timeout) {
  const auto executor = co_await asio::this_coro::executor;
  const std::string name = endpoint.host + " port " + std::to_string(endpoint.port);
  const TimePoint deadline = Clock::now() + timeout;
  tcp::resolver resolver{executor};
  auto resolving = resolver.async_resolve(endpoint.host, std::to_string(endpoint.port), kQuietly);
  const auto found = co_await in_time(deadline, std::move(resolving));
  if (!found) co_return Error{Error::Kind::kTimeout, "no name server answers for " + name};
  const auto& [unresolved, addresses] = *found;
  if (unresolved)
    co_return Error{Error::Kind::kUnavailable, lookup_error(endpoint.host, unresolved)};
  tcp::socket socket{executor};
  auto connecting = asio::async_connect(socket, addresses, kQuietly);
  const auto connected = co_await in_time(deadline, std::move(connecting));
  if (!connected) co_return Error{Error::Kind::kTimeout, name + " does not answer"};
  const auto error = std::get<0>(*connected);
  if (error) co_return Error{Error::Kind::kUnavailable, name + ": " + error.message()};
  co_return HttpSocket{std::move(socket)};
}

asio::awaitable<Result<HttpHeard>> ask_http(HttpSocket socket, HttpQuestion question,
                                            std::chrono::milliseconds timeout,
                                            std::size_t bytes_max) {
  const TimePoint deadline = Clock::now() + timeout;
  HttpBuffer buffer;
  ResponseParser parser;
  parser.body_limit(bytes_max);
  const auto begun = co_await hear_beginning(socket, question, buffer, parser, deadline);
  if (!begun) co_return begun.error();
  auto heard = co_await read_rest(socket, buffer, parser, deadline);
  co_return heard;
}

asio::awaitable<Result<HttpHeard>> follow_http(HttpSocket socket, HttpQuestion question,
                                               std::chrono::milliseconds timeout,
                                               std::function<bool(std::string_view)> hear) {
  const TimePoint deadline = Clock::now() + timeout;
  HttpBuffer buffer;
  ResponseParser parser;
  parser.body_limit(boost::none);
  const auto begun = co_await hear_beginning(socket, question, buffer, parser, deadline);
  if (!begun) co_return begun.error();
  const unsigned status = parser.get().result_int();
  if (status != 200) {
    parser.body_limit(kHttpHeardBytesMax);
    auto heard = co_await read_rest(socket, buffer, parser, deadline);
    co_return heard;
  }
  const ReadSome read = reading_of(socket);
  while (!parser.is_done()) {
    const auto error = co_await read_piece(read, buffer, parser);
    if (error == client_http::error::end_of_stream) break;
    if (error) co_return cut_off(error);
    const std::string piece = std::exchange(parser.get().body(), {});
    if (!piece.empty() && !hear(piece)) break;
  }
  co_return HttpHeard{status, ""};
}

}  // namespace ddprun
