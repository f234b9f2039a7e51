// The two ends of a link that is measured: one node listens, the other one connects.
//
// A connection begins with the token and a letter, which says what it is for. The receiver decides
// how long a measurement takes, and closes the connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/process/child_server.hpp"
#include "base/result.hpp"

namespace ddprun {

inline constexpr char kPing = 'p';     // the listener sends back each byte
inline constexpr char kReceive = 'r';  // the listener receives, and then tells the bytes per second
inline constexpr char kSend = 's';     // the listener sends

/// What the listener sends after it has received: a number in this many characters.
inline constexpr std::size_t kRateBytes = 20;

/// Starts a process of this node that listens at a free port of all addresses. A peer that does not
/// begin with `token` gets nothing back. To be called while there is one thread. Errors:
/// kUnavailable.
Result<ChildServer> start_link_server(const std::string& token);

/// Receives for a quarter of a second from the first byte on, and returns the bytes per second
/// after the first part, in which a connection gets up to speed. nullopt: the other end has gone,
/// or is silent.
asio::awaitable<std::optional<std::int64_t>> receive_rate(asio::ip::tcp::socket& socket);

/// Sends until the other end has gone or says something, and for 2 s at most.
asio::awaitable<void> send_all_it_takes(asio::ip::tcp::socket& socket);

/// Closes the connection. What was not sent yet is thrown away, or it would disturb others.
void drop(asio::ip::tcp::socket& socket);

}  // namespace ddprun
