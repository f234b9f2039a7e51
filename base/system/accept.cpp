#include "base/system/accept.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/coroutines.hpp"
#include "base/gated_log.hpp"
#include "base/system/peer_users.hpp"

namespace ddprun {

using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using asio::local::stream_protocol;
using namespace std::chrono_literals;

namespace {

// Somebody may close a file descriptor meanwhile, and trying without a pause would cost a whole
// core.
constexpr auto kRetryDelay = 100ms;

constexpr int kTakenAtOnce = 16;

/// Takes connections that wait already. In a crowd the event loop has a turn for each that is
/// there, and with one at a time the others would wait for as many turns.
template <typename Acceptor, typename Take>
void take_waiting(Acceptor& acceptor, const Take& take) {
  for (int taken = 1; taken < kTakenAtOnce; ++taken) {
    boost::system::error_code none;  // or trouble, which the next async_accept() meets as well
    auto socket = acceptor.accept(none);
    if (none) return;
    take(std::move(socket));
  }
}

/// Calls `take` with every connection until the acceptor is closed.
template <typename Acceptor, typename Take>
asio::awaitable<void> take_all(Acceptor& acceptor, const Take& take) {
  boost::system::error_code closed;
  acceptor.non_blocking(true, closed);
  GatedLog troubles{log::Level::kWarning};
  while (acceptor.is_open()) {
    std::string trouble;
    try {
      auto [error, socket] = co_await acceptor.async_accept(as_tuple(use_awaitable));
      if (error) {
        trouble = error.message();
      } else {
        take(std::move(socket));
        take_waiting(acceptor, take);
      }
    } catch (const std::exception& e) {  // usually out of memory
      trouble = e.what();
    }
    if (trouble.empty() || !acceptor.is_open()) continue;
    troubles.say("cannot accept a connection: {}", trouble);
    co_await until(Clock::now() + kRetryDelay);
  }
}

/// A Unix socket lies in a private folder; a second look costs nothing.
bool is_own_users(stream_protocol::socket& socket) {
  const auto peer = peer_of(socket);
  return peer && (peer->uid == 0 || peer->uid == ::geteuid());
}

}  // namespace

std::optional<ucred> peer_of(stream_protocol::socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return std::nullopt;
  return peer;
}

Result<tcp::acceptor> listen_on(const asio::any_io_executor& executor,
                                const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor{executor};
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) return acceptor;
  return Error{Error::Kind::kUnavailable, "cannot listen on " + endpoint.address().to_string() +
                                              " port " + std::to_string(endpoint.port()) + ": " +
                                              error.message()};
}

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, std::function<void(tcp::socket)> serve,
                                 MayConnect who) {
  boost::system::error_code closed;
  const bool loopback = acceptor.local_endpoint(closed).address().is_loopback();
  std::optional<OwnUserFilter> filter;
  if (loopback || who == MayConnect::kOwnUser) filter.emplace();
  const auto take = [&](tcp::socket socket) {
    if (!filter || filter->lets_in(socket)) serve(std::move(socket));
  };
  co_await take_all(acceptor, take);
}

asio::awaitable<void> accept_all(stream_protocol::acceptor& acceptor,
                                 std::function<void(stream_protocol::socket)> serve) {
  const auto take = [&](stream_protocol::socket socket) {
    if (is_own_users(socket)) serve(std::move(socket));
  };
  co_await take_all(acceptor, take);
}

}  // namespace ddprun
