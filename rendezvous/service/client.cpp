#include "rendezvous/service/client.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "base/coroutines.hpp"
#include "base/lookup_error.hpp"
#include "base/text.hpp"

namespace ddprun {

/// An attempt to reach one coordinator, while it lasts.
struct Search {
  Search(Endpoint where, Patience patience, Hello first, TellUser tell_user,
         std::shared_ptr<const TlsContext> secret)
      : coordinator{std::move(where)},
        plan{patience, Clock::now()},
        hello{std::move(first)},
        tell{std::move(tell_user)},
        tls{std::move(secret)} {}

  const Endpoint coordinator;
  ConnectPlan plan;
  const Hello hello;
  const TellUser tell;
  const std::shared_ptr<const TlsContext> tls;  // null: nothing is encrypted
  FailedAttempt last{FailedAttempt::Why::kNoAnswer, "no answer"};
};

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;
using Why = FailedAttempt::Why;

constexpr auto kIntroductionTimeout = 2s;
constexpr auto kHandshakeTimeout = 10s;  // thousands of agents may come to the coordinator at once

template <typename T>
using Tried = boost::system::result<T, FailedAttempt>;
using Addresses = std::vector<tcp::endpoint>;

/// Finds the addresses of the coordinator. Looking up a name takes as long as the system's resolver
/// takes: it has deadlines of its own, and begins from the start when it is asked again.
asio::awaitable<Tried<Addresses>> look_up(const Search& search) {
  const Endpoint& coordinator = search.coordinator;
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(coordinator.host, not_numeric);
  if (!not_numeric) co_return Addresses{{address, coordinator.port}};
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver{executor};
  auto resolving = resolver.async_resolve(coordinator.host, std::to_string(coordinator.port),
                                          as_tuple(use_awaitable));
  const auto answer = co_await in_time(search.plan.deadline(), std::move(resolving));
  if (!answer) co_return FailedAttempt{Why::kUnresolved, "no name server answers"};
  const auto& [unresolved, found] = *answer;
  if (unresolved)
    co_return FailedAttempt{Why::kUnresolved, lookup_error(coordinator.host, unresolved)};
  Addresses addresses;
  for (const auto& entry : found) addresses.push_back(entry.endpoint());
  co_return addresses;
}

/// A process that ends resets the connections that the system had accepted for it.
Why why_not_connected(const boost::system::error_code& error) {
  if (error == asio::error::connection_refused) return Why::kRefused;
  return error == asio::error::connection_reset ? Why::kHungUp : Why::kNoAnswer;
}

/// Connects to one address. A Channel is made of what is connected here, and nowhere else.
asio::awaitable<Tried<std::shared_ptr<Channel>>> connect_to(const Search& search,
                                                            tcp::endpoint address) {
  tcp::socket socket{co_await asio::this_coro::executor};
  auto connecting = socket.async_connect(address, as_tuple(use_awaitable));
  const auto connected =
      co_await in_time(search.plan.connected_by(Clock::now()), std::move(connecting));
  if (!connected) co_return FailedAttempt{Why::kNoAnswer, "no answer"};
  const auto [error] = *connected;
  if (!error)
    co_return std::make_shared<Channel>(
        std::move(socket), search.tls ? std::make_unique<TlsSession>(search.tls) : nullptr);
  co_return FailedAttempt{why_not_connected(error), error.message()};
}

/// What it means that a peer does not get through the handshake of TLS.
FailedAttempt not_secured(const Error& error) {
  if (error.kind == Error::Kind::kDenied) return {Why::kDenied, ""};
  if (error.kind == Error::Kind::kUnavailable) return {Why::kHungUp, ""};
  return {Why::kStranger, error.message};
}

/// Proves the secret to the other end, and lets it prove that it has it. Without a secret nothing
/// is to be done.
asio::awaitable<Tried<void>> secure(const Search& search, const std::shared_ptr<Channel>& channel) {
  if (!search.tls) co_return boost::system::in_place_value;
  const TimePoint deadline = std::min(search.plan.deadline(), Clock::now() + kHandshakeTimeout);
  const auto secured = co_await in_time(deadline, channel->secure());
  if (!secured) co_return FailedAttempt{Why::kSilent, ""};
  if (!*secured) co_return not_secured(secured->error());
  co_return boost::system::in_place_value;
}

/// Connects to one address, and secures the connection.
asio::awaitable<Tried<std::shared_ptr<Channel>>> try_address(const Search& search,
                                                             tcp::endpoint address) {
  auto connected = co_await connect_to(search, address);
  if (!connected) co_return connected;
  const std::shared_ptr<Channel>& channel = *connected;
  const auto secured = co_await secure(search, channel);
  if (secured) co_return channel;
  channel->close();
  co_return secured.error();
}

/// One attempt to connect: the addresses of a name are tried in turn, each on a socket of its own.
asio::awaitable<Tried<std::shared_ptr<Channel>>> connect_once(const Search& search) {
  const Tried<Addresses> addresses = co_await look_up(search);
  if (!addresses) co_return addresses.error();
  Tried<std::shared_ptr<Channel>> tried = FailedAttempt{};
  for (const tcp::endpoint& address : *addresses) {
    tried = co_await try_address(search, address);
    if (tried || Clock::now() >= search.plan.deadline()) break;
  }
  co_return tried;
}

/// Says hello to the listener, and hears whether it is a coordinator.
asio::awaitable<Tried<CoordinatorMessage>> greet(const Search& search, Channel& channel) {
  channel.send(encode(search.hello(channel)));
  const auto heard = co_await in_time(search.plan.answered_by(Clock::now()), channel.receive());
  if (!heard) co_return FailedAttempt{Why::kSilent, ""};
  const Result<std::string>& line = *heard;
  if (!line && line.error().kind == Error::Kind::kUnavailable)
    co_return FailedAttempt{Why::kHungUp, ""};
  if (!line) co_return FailedAttempt{Why::kStranger, "it said " + line.error().message};
  auto message = decode_coordinator_message(*line);
  if (!message) co_return FailedAttempt{Why::kStranger, "it said " + printable(*line)};
  co_return std::move(*message);
}

/// One attempt to reach a coordinator.
asio::awaitable<Tried<Reached>> reach_once(const Search& search) {
  const auto connected = co_await connect_once(search);
  if (!connected) co_return connected.error();
  const std::shared_ptr<Channel>& channel = *connected;
  auto answer = co_await greet(search, *channel);
  if (answer) co_return Reached{channel, std::move(*answer)};
  channel->close();
  co_return answer.error();
}

Error failure(const Search& search) {
  auto kind = Error::Kind::kTimeout;
  if (search.last.why == Why::kDenied) kind = Error::Kind::kDenied;
  if (search.last.why == Why::kRefused) kind = Error::Kind::kUnavailable;
  return {kind, describe(search.last, search.coordinator)};
}

/// Attempts, one after another, until one succeeds or the patience ends.
template <typename T>
asio::awaitable<Result<T>> keep_trying(Search& search,
                                       asio::awaitable<Tried<T>> (*attempt)(const Search&)) {
  for (;;) {
    Tried<T> tried = co_await attempt(search);
    if (tried) co_return std::move(*tried);
    search.last = std::move(tried.error());
    const auto pause = search.plan.pause_after(search.last.why, Clock::now());
    if (!pause) co_return failure(search);
    co_await until(Clock::now() + *pause);
  }
}

/// Tells the user now and then that the coordinator is not reached, until it is cancelled.
asio::awaitable<void> tell_meanwhile(Search& search) {
  asio::steady_timer timer{co_await asio::this_coro::executor};
  for (;;) {
    timer.expires_at(search.plan.note_due());
    const auto [cancelled] = co_await timer.async_wait(as_tuple(use_awaitable));
    if (cancelled) co_return;
    search.tell(search.plan.note(search.last, search.coordinator, Clock::now()));
  }
}

}  // namespace

asio::awaitable<Result<Reached>> reach(Endpoint coordinator, Patience patience, Hello hello,
                                       TellUser tell, std::shared_ptr<const TlsContext> tls) {
  Search search{std::move(coordinator), patience, std::move(hello), std::move(tell),
                std::move(tls)};
  auto telling = tell_meanwhile(search);  // which does not end by itself
  auto reached = co_await before(std::move(telling), keep_trying(search, reach_once));
  if (!reached) co_return failure(search);  // both were cancelled: the caller has gone
  co_return std::move(*reached);
}

asio::awaitable<Result<std::shared_ptr<Channel>>> connect(Endpoint coordinator, Patience patience,
                                                          std::shared_ptr<const TlsContext> tls) {
  Search search{std::move(coordinator), patience, {}, {}, std::move(tls)};
  auto connected = co_await keep_trying(search, connect_once);
  co_return connected;
}

asio::awaitable<Result<std::optional<Identity>>> ask_who_is_at(
    Endpoint endpoint, std::string run_id, std::chrono::milliseconds patience,
    std::shared_ptr<const TlsContext> tls) {
  const Hello question = [run_id](const Channel&) { return Identify{run_id}; };
  const TellUser nobody = [](const std::string&) {};
  const auto reached = co_await reach(std::move(endpoint), {patience, 0s, patience}, question,
                                      nobody, std::move(tls));
  if (!reached) co_return reached.error();
  reached->channel->close();
  const auto* told = std::get_if<Identity>(&reached->answer);
  co_return told != nullptr ? std::optional{*told} : std::nullopt;
}

asio::awaitable<std::optional<Identity>> who_is_at(Endpoint endpoint, std::string run_id) {
  const auto told =
      co_await ask_who_is_at(std::move(endpoint), std::move(run_id), kIntroductionTimeout, nullptr);
  co_return told ? *told : std::nullopt;
}

}  // namespace ddprun
