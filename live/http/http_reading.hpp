// Reads what comes over HTTP, whatever carries it. Beast's own functions for that are templates
// that are compiled for each kind of stream; here they feed Beast's parser, which is compiled once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/asio.hpp"

namespace ddprun {

using HttpBuffer = boost::beast::flat_buffer;
using RequestReading = boost::beast::http::basic_parser<true>;
using ResponseReading = boost::beast::http::basic_parser<false>;

/// Reads some bytes of a connection: an error, and how many there were.
using ReadSome = std::function<asio::awaitable<std::pair<boost::system::error_code, std::size_t>>(
    asio::mutable_buffer)>;

/// Reads of that socket, which must live as long.
ReadSome reading_of(asio::generic::stream_protocol::socket& socket);

/// Reads a request to its end. What comes behind it stays in `buffer`. The errors are those of the
/// connection and of Beast's parser.
asio::awaitable<boost::system::error_code> read_request(const ReadSome& read, HttpBuffer& buffer,
                                                        RequestReading& parser);

/// Reads an answer until its headers are there, to its end, or as far as one read gets.
asio::awaitable<boost::system::error_code> read_header(const ReadSome& read, HttpBuffer& buffer,
                                                       ResponseReading& parser);
asio::awaitable<boost::system::error_code> read_response(const ReadSome& read, HttpBuffer& buffer,
                                                         ResponseReading& parser);
asio::awaitable<boost::system::error_code> read_piece(const ReadSome& read, HttpBuffer& buffer,
                                                      ResponseReading& parser);

}  // namespace ddprun
