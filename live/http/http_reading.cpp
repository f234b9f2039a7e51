#include "live/http/http_reading.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>

namespace ddprun {

using boost::system::error_code;
namespace http = boost::beast::http;

namespace {

constexpr std::size_t kReadAtOnce = 64 * 1024;

/// Fills the buffer. At the end of the connection, the parser decides whether the message has ended
/// with it.
template <typename Parser>
asio::awaitable<error_code> fill(const ReadSome& read, HttpBuffer& buffer, Parser& parser) {
  const std::size_t room = std::min(buffer.max_size() - buffer.size(), kReadAtOnce);
  if (room == 0) co_return http::error::buffer_overflow;
  auto reading = read(buffer.prepare(room));
  const auto [error, bytes] = co_await std::move(reading);
  if (error != asio::error::eof) {
    buffer.commit(error ? 0 : bytes);
    co_return error;
  }
  error_code at_end = http::error::end_of_stream;
  if (parser.got_some()) {
    at_end = {};
    parser.put_eof(at_end);
  }
  co_return at_end;
}

/// Parses what is there, and reads more until the parser gets on.
template <typename Parser>
asio::awaitable<error_code> get_on(const ReadSome& read, HttpBuffer& buffer, Parser& parser) {
  for (;;) {
    if (buffer.size() > 0) {
      error_code error;
      buffer.consume(parser.put(buffer.data(), error));
      if (error != http::error::need_more) co_return error;
    }
    const error_code error = co_await fill(read, buffer, parser);
    if (error || parser.is_done()) co_return error;
  }
}

template <typename Parser>
asio::awaitable<error_code> read_all(const ReadSome& read, HttpBuffer& buffer, Parser& parser) {
  parser.eager(true);
  error_code error;
  while (!error && !parser.is_done()) error = co_await get_on(read, buffer, parser);
  co_return error;
}

}  // namespace

ReadSome reading_of(asio::generic::stream_protocol::socket& socket) {
  return
      [&socket](asio::mutable_buffer into) -> asio::awaitable<std::pair<error_code, std::size_t>> {
        const auto [error, bytes] =
            co_await socket.async_read_some(into, asio::as_tuple(asio::use_awaitable));
        co_return std::pair{error, bytes};
      };
}

asio::awaitable<error_code> read_request(const ReadSome& read, HttpBuffer& buffer,
                                         RequestReading& parser) {
  return read_all(read, buffer, parser);
}

asio::awaitable<error_code> read_header(const ReadSome& read, HttpBuffer& buffer,
                                        ResponseReading& parser) {
  error_code error;
  while (!error && !parser.is_header_done()) error = co_await get_on(read, buffer, parser);
  co_return error;
}

asio::awaitable<error_code> read_response(const ReadSome& read, HttpBuffer& buffer,
                                          ResponseReading& parser) {
  return read_all(read, buffer, parser);
}

asio::awaitable<error_code> read_piece(const ReadSome& read, HttpBuffer& buffer,
                                       ResponseReading& parser) {
  return get_on(read, buffer, parser);
}

}  // namespace ddprun
