#include "rendezvous/rounds/client.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kIntroductionTimeout = 2s;
constexpr auto kHandshakeTimeout = 10s;  // thousands of agents may come to the coordinator at once

/// One attempt. An address is used as it is; a name is resolved, and its addresses tried in turn.
asio::awaitable<boost::system::error_code> try_connect(tcp::socket& socket,
                                                       const Endpoint& coordinator) {
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(coordinator.host, not_numeric);
  if (!not_numeric) {
    const auto [error] =
        co_await socket.async_connect({address, coordinator.port}, as_tuple(use_awaitable));
    co_return error;
  }
  tcp::resolver resolver{socket.get_executor()};
  const auto [unresolved, addresses] = co_await resolver.async_resolve(
      coordinator.host, std::to_string(coordinator.port), as_tuple(use_awaitable));
  if (unresolved) co_return unresolved;
  const auto [error, used] =
      co_await asio::async_connect(socket, addresses, as_tuple(use_awaitable));
  co_return error;
}

std::string at(const Endpoint& coordinator) {
  return "the coordinator at " + coordinator.host + " port " + std::to_string(coordinator.port);
}

Error unreachable(const Endpoint& coordinator, const std::string& reason) {
  return {Error::Kind::kTimeout, "cannot reach " + at(coordinator) + ": " + reason};
}

/// What the coordinator does not say: strangers learn nothing from it.
Error denied(const Endpoint& coordinator) {
  return {Error::Kind::kDenied,
          at(coordinator) +
              " does not take this node's secret: it has another one or none, or it is another "
              "job's (--rdzv-id)"};
}

/// Proves the secret to the other end, and lets it prove that it has it.
asio::awaitable<Result<void>> secure(const std::shared_ptr<Channel>& channel, TimePoint deadline) {
  asio::steady_timer late{co_await asio::this_coro::executor,
                          std::min(deadline, Clock::now() + kHandshakeTimeout)};
  auto handshake = channel->secure();
  auto timeout = late.async_wait(as_tuple(use_awaitable));
  const auto first = co_await (std::move(handshake) || std::move(timeout));
  if (first.index() == 0) co_return std::get<0>(first);
  co_return Error{Error::Kind::kTimeout, "it does not answer in TLS"};
}

}  // namespace

asio::awaitable<Result<std::shared_ptr<Channel>>> connect(Endpoint coordinator, Patience patience,
                                                          std::shared_ptr<const TlsContext> tls) {
  const auto executor = co_await asio::this_coro::executor;
  ConnectPlan plan{patience, Clock::now()};
  asio::steady_timer deadline{executor, plan.deadline()};
  std::string reason = "no answer";
  for (;;) {
    tcp::socket socket{executor};
    const auto first =
        co_await (try_connect(socket, coordinator) || deadline.async_wait(as_tuple(use_awaitable)));
    const bool answered = first.index() == 0;
    if (answered && !std::get<0>(first)) {
      const auto channel = std::make_shared<Channel>(
          std::move(socket), "", tls ? std::make_unique<TlsSession>(tls) : nullptr);
      const Result<void> secured = co_await secure(channel, plan.deadline());
      if (secured) co_return channel;
      channel->close();
      if (secured.error().kind == Error::Kind::kDenied) co_return denied(coordinator);
      reason = secured.error().message;
    } else if (answered) {
      reason = std::get<0>(first).message();
    }
    const bool refused = answered && std::get<0>(first) == asio::error::connection_refused;
    const auto pause = plan.pause_after(
        refused ? ConnectPlan::Failure::kRefused : ConnectPlan::Failure::kOther, Clock::now());
    if (!pause) co_return unreachable(coordinator, reason);
    asio::steady_timer timer{executor, *pause};
    co_await timer.async_wait(as_tuple(use_awaitable));
  }
}

asio::awaitable<std::optional<Introduction>> who_is_at(Endpoint endpoint) {
  asio::steady_timer deadline{co_await asio::this_coro::executor, kIntroductionTimeout};
  const Patience patience{kIntroductionTimeout, 0s};
  const auto channel = co_await connect(std::move(endpoint), patience);
  if (!channel) co_return std::nullopt;
  (*channel)->send(encode(AgentMessage{WhoIsThere{}}));
  auto first = co_await ((*channel)->receive() || deadline.async_wait(as_tuple(use_awaitable)));
  (*channel)->close();
  if (first.index() == 1 || !std::get<0>(first)) co_return std::nullopt;
  const auto answer = decode_coordinator_message(*std::get<0>(first));
  if (!answer || !std::holds_alternative<Introduction>(*answer)) co_return std::nullopt;
  co_return std::get<Introduction>(*answer);
}

}  // namespace ddprun
