#include "agent/coordinator_link.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "agent/decisions/self_check.hpp"
#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/system/fresh_names.hpp"
#include "rendezvous/service/client.hpp"

namespace ddprun {

using asio::as_tuple;
using asio::use_awaitable;

CoordinatorLink::CoordinatorLink(const asio::any_io_executor& executor, const LaunchSpec& spec,
                                 const RunFacts& run, LocalCoordinator& own, Listener tell)
    : executor_{executor},
      spec_{spec},
      run_{run},
      own_{own},
      tell_{std::move(tell)},
      ask_etcd_{own.ask_etcd()},
      id_{fresh_id()},
      place_{run.coordinator},
      end_{executor, asio::steady_timer::time_point::max()} {}

void CoordinatorLink::connect(const ReachCoordinator& wish) {
  start_coroutine(executor_, serve(wish), report_failure("talking to the coordinator"));
}

/// One connection, from the first attempt to its end.
asio::awaitable<void> CoordinatorLink::serve(ReachCoordinator wish) {
  if (const auto taken = take_secret(); !taken)
    co_return tell_(CoordinatorUnreachable{taken.error().message});
  const Hello hello = [this, &wish](const Channel& channel) {
    own_port_ = own_.stand_by();
    return join(wish, channel);
  };
  // Where all nodes write to one terminal, the first that has to wait speaks for all: of a thousand
  // nodes, each says so only when it goes on for long.
  const Meeting& meeting = spec_.meeting;
  bool silent = meeting.shares_output && meeting.node_rank > 1;
  const TellUser tell_user = [&silent](const std::string& line) {
    if (!std::exchange(silent, false)) log::warn("{}", line);
  };
  if (wish.pause > wish.pause.zero()) {
    auto over = ended();
    co_await ends_first(until(Clock::now() + wish.pause), std::move(over));
  }
  auto reaching = reach_any(wish, hello, tell_user);
  auto over = ended();
  const auto first = co_await before(std::move(over), std::move(reaching));
  if (!first) co_return;
  const Result<Reached>& reached = *first;
  if (!reached)
    co_return tell_(CoordinatorUnreachable{reached.error().message,
                                           reached.error().kind == Error::Kind::kUnavailable});
  const auto channel = channel_ = reached->channel;
  if (spec_.terms.store == StoreAt::kLocal)
    tunnel_ = std::make_shared<TunnelEntrance>(executor_, channel_);
  open_store_again(wish.voter.running);
  tell_(Connected{asked_, ask_etcd_ ? text_of(place_) : ""});
  tell_(Ordered{reached->answer});
  if (channel == channel_) co_await receive();
}

asio::awaitable<Result<Reached>> CoordinatorLink::reach_any(const ReachCoordinator& wish,
                                                            const Hello& hello,
                                                            const TellUser& tell_user) {
  if (wish.at.empty() && ask_etcd_) {
    auto found = co_await reach_by_etcd(wish, hello);
    co_return found;
  }
  place_ = wish.at.empty() ? run_.coordinator : read_endpoint(wish.at).value_or(run_.coordinator);
  auto reached = co_await reach(place_, wish.patience, hello, tell_user, tls_);
  co_return reached;
}

/// The coordinator that etcd names may be gone already, and another one may be named soon.
asio::awaitable<Result<Reached>> CoordinatorLink::reach_by_etcd(const ReachCoordinator& wish,
                                                                const Hello& hello) {
  const TimePoint deadline = Clock::now() + wish.patience.any;
  const TellUser nobody = [](const std::string&) {};
  std::int64_t lost = wish.voter.epoch;
  Result<Reached> reached = Error{Error::Kind::kTimeout, "nobody coordinates the job"};
  do {
    auto asking = ask_etcd_(wish.voter, lost, deadline);
    const auto head = co_await std::move(asking);
    if (!head) co_return head.error();
    place_ = head->endpoint;
    lost = head->epoch;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const auto time = std::clamp(left, std::chrono::milliseconds{1}, kAnswerTimeoutMin);
    reached = co_await reach(place_, {time, std::chrono::milliseconds{0}, wish.patience.answer},
                             hello, nobody, tls_);
    const bool is_final = reached || reached.error().kind == Error::Kind::kDenied;
    if (is_final) co_return reached;
  } while (Clock::now() < deadline);
  co_return Error{Error::Kind::kTimeout, reached.error().message};
}

Result<void> CoordinatorLink::take_secret() {
  if (!spec_.secret || tls_) return {};
  auto tls = TlsContext::for_agent(job_key(*spec_.secret, run_.run_id));
  if (tls) tls_ = std::move(*tls);
  return tls ? Result<void>{} : tls.error();
}

asio::awaitable<void> CoordinatorLink::ended() {
  co_await end_.async_wait(as_tuple(use_awaitable));
}

/// Each attempt is a newer incarnation: the coordinator may have heard an earlier one whose answer
/// was lost, and then has to give that one up.
Join CoordinatorLink::join(const ReachCoordinator& wish, const Channel& channel) {
  asked_ = Clock::now();
  VoterState voter = wish.voter;
  voter.standby_port = own_port_;
  voter.colocated = colocated_ = channel.is_local() && place_.port == own_port_;
  return {.run_id = run_.run_id,
          .node = id_,
          .incarnation = ++incarnation_,
          .counters = wish.counters,
          .host = run_.host,
          .workers = spec_.workers,
          .role = spec_.role,
          .node_rank = spec_.meeting.node_rank,
          .terms = spec_.terms,
          .voter = std::move(voter),
          .place = place_number(),
          .parked = wish.parked,
          .check_ms = spec_.node.check ? kCheckTimeMax.count() : 0,
          .unfit = wish.unfit};
}

/// Which of the job's places is tried; 0: the first one, or one that another node named.
int CoordinatorLink::place_number() const {
  const auto& places = spec_.meeting.places;
  const auto found = std::ranges::find(places, place_);
  return found == places.end() ? 0 : static_cast<int>(found - places.begin());
}

asio::awaitable<void> CoordinatorLink::receive() {
  const auto channel = channel_;
  for (;;) {
    const Result<std::string> line = co_await channel->receive();
    if (channel != channel_) co_return;  // it has been given up, and perhaps there is another one
    const auto message =
        line ? decode_coordinator_message(*line) : Result<CoordinatorMessage>{line.error()};
    if (!message) {
      disconnect();
      co_return tell_(CoordinatorLost{message.error().message});
    }
    tell_(Ordered{*message});
  }
}

void CoordinatorLink::send(const AgentMessage& message) {
  if (channel_) channel_->send(encode(message));
}

void CoordinatorLink::disconnect() {
  close_store();
  if (const auto channel = std::exchange(channel_, nullptr)) channel->close();
}

Result<StartRound> CoordinatorLink::open_store(StartRound round) {
  if (tunnel_) {
    const auto port = tunnel_->open(round.round);
    if (!port) return port.error();
    round.master_addr = "127.0.0.1";
    round.master_port = tunnel_port_ = *port;
  }
  if (round.master_addr.empty()) round.master_addr = place_.host;
  log::info("the store is at {} port {}", round.master_addr, round.master_port);
  return round;
}

std::string CoordinatorLink::as_seen_here(const std::string& endpoint) const {
  if (!endpoint.starts_with(':')) return endpoint;
  const auto port = parse_number<std::uint16_t>(std::string_view{endpoint}.substr(1));
  return text_of({place_.host, port.value_or(0)});
}

/// Workers that run on look for the store where it was.
void CoordinatorLink::open_store_again(int round) {
  if (!tunnel_ || round == 0) return;
  const auto opened = tunnel_->open(round, static_cast<std::uint16_t>(tunnel_port_));
  if (!opened) log::warn("{}", opened.error().message);
}

void CoordinatorLink::close_store() {
  if (tunnel_) tunnel_->close();
}

void CoordinatorLink::end() {
  end_.expires_at(asio::steady_timer::time_point::min());
  close_store();
  if (const auto channel = std::exchange(channel_, nullptr)) channel->close_when_sent();
}

}  // namespace ddprun
