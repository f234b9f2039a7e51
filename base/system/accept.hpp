// listen_on() and accept_all(): how every server here takes connections.
#pragma once

#include <sys/socket.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <optional>

#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Listens on `endpoint`; port 0 takes any free one. Errors: kUnavailable, which names the address
/// and the system's reason.
Result<asio::ip::tcp::acceptor> listen_on(const asio::any_io_executor& executor,
                                          const asio::ip::tcp::endpoint& endpoint);

/// The right to connect: any process that can reach the listener has it, or only processes of this
/// process's own user and of root. All users of the machine can reach a listener on loopback, so
/// there it is always the own user.
enum class MayConnect { kAnybody, kOwnUser };

/// Hands every permitted connection to `serve` until `acceptor` is closed, which must live as long.
/// If the system refuses, usually because there are no file descriptors left, it logs that and
/// tries again a little later; meanwhile connections wait in the system's queue. An exception of
/// `serve` costs one connection.
asio::awaitable<void> accept_all(asio::ip::tcp::acceptor& acceptor,
                                 std::function<void(asio::ip::tcp::socket)> serve,
                                 MayConnect who = MayConnect::kAnybody);

/// Does so at a Unix socket, where only processes of the own user and of root may connect.
asio::awaitable<void> accept_all(asio::local::stream_protocol::acceptor& acceptor,
                                 std::function<void(asio::local::stream_protocol::socket)> serve);

/// The process that has connected to a Unix socket; nullopt: the system does not tell. One of
/// another PID namespace has the pid 0.
std::optional<ucred> peer_of(asio::local::stream_protocol::socket& socket);

}  // namespace ddprun
