// Listening, and accepting until the listener is closed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>

#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Listens on `endpoint`; port 0: any free one. Errors: kUnavailable, naming the address.
Result<asio::ip::tcp::acceptor> listen_on(const asio::any_io_executor& executor,
                                          const asio::ip::tcp::endpoint& endpoint);

/// Hands every connection to `serve` until `acceptor`, which must live as long, is closed.
asio::awaitable<void> accept_all(asio::ip::tcp::acceptor& acceptor,
                                 std::function<void(asio::ip::tcp::socket)> serve);

}  // namespace ddprun
