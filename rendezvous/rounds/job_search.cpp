// The part of Job that speaks to those who have not joined it: other places of the job, a witness,
// and agents whose connections have ended.

#include <spdlog/spdlog.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/endpoint.hpp"
#include "base/report_failure.hpp"
#include "rendezvous/rounds/client.hpp"
#include "rendezvous/rounds/job.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using namespace std::chrono_literals;

constexpr auto kKnockTimeout = 1s;
constexpr auto kHeraldInterval = 1s;
constexpr auto kAskTimeout = 1s;
constexpr auto kAskPatience = 2s;  // looking up a name cannot be given up
constexpr auto kAskInterval = 500ms;
constexpr auto kInviteInterval = 1s;             // a witness, by who coordinates the job
constexpr auto kCandidateInviteInterval = 50ms;  // and by who has lost its coordinator

/// A process that is ending closes the connections that it still takes within this time.
constexpr auto kHangUpTime = 50ms;
constexpr int kKnocksMax = 4;

/// Whether the other end closes the connection soon, without a word. It is closed then.
asio::awaitable<bool> hangs_up(std::shared_ptr<Channel> channel) {
  asio::steady_timer timer{co_await asio::this_coro::executor, kHangUpTime};
  auto hearing = channel->receive();
  auto waiting = timer.async_wait(as_tuple(use_awaitable));
  const auto first = co_await (std::move(hearing) || std::move(waiting));
  channel->close();
  co_return first.index() == 0;
}

}  // namespace

/// One question to all other places of the job.
struct Job::Asking {
  explicit Asking(const asio::any_io_executor& executor) : late{executor, kAskPatience} {}
  std::size_t open = 0;  // places that may answer yet
  LeadersFound seen{{}, true};
  asio::steady_timer late;  // expires when the answers are waited for no longer
};

/// Asks the system of an agent's host whether somebody listens there still: when nobody does, the
/// agent's process is gone. Who is alive is connected to, and that is all. A process that is ending
/// may still take the connection, and ends it at once: then it is asked again.
asio::awaitable<void> Job::knock(Probe order) {
  const auto self = shared_from_this();
  const auto endpoint = read_endpoint(order.endpoint);
  if (!endpoint) co_return;
  bool refused = false;
  bool hung_up = true;
  for (int i = 0; i < kKnocksMax && hung_up; ++i) {
    const auto answer = co_await connect(*endpoint, {kKnockTimeout, 0s, kKnockTimeout});
    refused = !answer && answer.error().kind == Error::Kind::kUnavailable;
    if (!answer) break;
    auto hanging_up = hangs_up(*answer);
    hung_up = co_await std::move(hanging_up);
  }
  if (!closed_ && !machine_.ended()) step(Probed{order.node, refused});
}

/// Tells where the coordinator is to whoever may take himself for it, for as long as it is here.
asio::awaitable<void> Job::herald(AnnounceLeader order) {
  const auto self = shared_from_this();
  auto telling = tell_again_and_again(order);
  auto closing = closing_.async_wait(as_tuple(use_awaitable));
  co_await (std::move(telling) || std::move(closing));
}

asio::awaitable<void> Job::tell_again_and_again(const AnnounceLeader& order) {
  asio::steady_timer pause{tick_.get_executor()};
  const Hello hello = [&](const Channel&) {
    return Identify{rules().run_id, order.epoch, rules().endpoint};
  };
  const TellUser nobody = [](const std::string&) {};
  while (machine_.epoch() == order.epoch && !machine_.ended()) {
    for (const std::string& place : order.endpoints) {
      const auto endpoint = read_endpoint(place);
      if (!endpoint) continue;
      const auto answer =
          co_await reach(*endpoint, {kKnockTimeout, 0s, kKnockTimeout}, hello, nobody, tls_);
      if (answer) answer->channel->close();
    }
    pause.expires_after(kHeraldInterval);
    co_await pause.async_wait(as_tuple(use_awaitable));
  }
}

/// This is the first place of the job, and others may have a coordinator already.
asio::awaitable<void> Job::look_for_leader() {
  const auto self = shared_from_this();
  asio::steady_timer pause{tick_.get_executor()};
  while (!closed_ && machine_.may_begin_job()) {
    const auto asking = std::make_shared<Asking>(tick_.get_executor());
    for (const std::string& place : machine_.places_to_ask()) {
      ++asking->open;
      co_spawn(tick_.get_executor(), ask(place, asking),
               report_failure("asking for a coordinator"));
    }
    while (asking->open > 0 && Clock::now() < asking->late.expiry())
      co_await asking->late.async_wait(as_tuple(use_awaitable));
    if (closed_) co_return;
    if (asking->open > 0) asking->seen.all = false;
    step(asking->seen);
    pause.expires_after(kAskInterval);
    co_await pause.async_wait(as_tuple(use_awaitable));
  }
}

asio::awaitable<void> Job::ask(std::string place, std::shared_ptr<Asking> asking) {
  const auto self = shared_from_this();
  const auto endpoint = read_endpoint(place);
  if (endpoint) {
    const auto answer = co_await ask_who_is_at(*endpoint, rules().run_id, kAskTimeout, tls_);
    const bool silent = !answer && answer.error().kind != Error::Kind::kUnavailable;
    if (silent) asking->seen.all = false;
    const auto told = answer ? *answer : std::nullopt;
    const Leader known = told ? Leader{told->epoch, told->coordinator} : Leader{};
    if (known.epoch >= asking->seen.leader.epoch && known != Leader{}) asking->seen.leader = known;
  }
  --asking->open;
  asking->late.cancel();
}

/// Who coordinates this job, or wants to, looks for one who votes beside the nodes. At the first
/// place is none: a `ddprun server` there hosts the job.
asio::awaitable<void> Job::look_for_witness() {
  const auto self = shared_from_this();
  while (!closed_) {
    const bool wanted = machine_.wants_witness();
    for (std::size_t i = 1; wanted && i < rules().places.size(); ++i)
      if (const std::string& place = rules().places[i]; invited_.insert(place).second)
        co_spawn(tick_.get_executor(), invite(place), report_failure("asking for a vote"));
    inviting_.expires_after(machine_.epoch() > 0 || !wanted ? kInviteInterval
                                                            : kCandidateInviteInterval);
    co_await inviting_.async_wait(as_tuple(use_awaitable));
  }
}

/// Serves the witness that is at that place, if there is one.
asio::awaitable<void> Job::invite(std::string place) {
  const auto self = shared_from_this();
  const auto endpoint = read_endpoint(place);
  if (endpoint && !witness_places_.contains(place)) {
    const auto answer = co_await ask_who_is_at(*endpoint, rules().run_id, kAskTimeout, tls_);
    if (answer && *answer && (*answer)->witness) witness_places_.insert(place);
  }
  if (endpoint && witness_places_.contains(place) && !closed_ && machine_.wants_witness()) {
    const auto channel = co_await connect(*endpoint, {kAskTimeout, 0s, kAskTimeout}, tls_);
    if (channel) {
      auto join = co_await ask_for_vote(place, *channel);
      if (join && !closed_ && machine_.wants_witness()) {
        spdlog::info("the witness at {} votes in this job", place);
        co_spawn(tick_.get_executor(), serve(*channel, *std::move(join)),
                 report_failure("a witness"));
      } else {
        (*channel)->close_when_sent();
      }
    }
  }
  invited_.erase(place);
}

/// nullopt: it votes for somebody else, who is told of here when that one is later.
asio::awaitable<std::optional<Join>> Job::ask_for_vote(std::string place,
                                                       std::shared_ptr<Channel> channel) {
  channel->send(encode(AgentMessage{machine_.invitation()}));
  asio::steady_timer deadline{tick_.get_executor(), kAskTimeout};
  auto hearing = channel->receive();
  auto waiting = deadline.async_wait(as_tuple(use_awaitable));
  const auto first = co_await (std::move(hearing) || std::move(waiting));
  if (first.index() == 1 || !std::get<0>(first)) co_return std::nullopt;
  const std::string& line = *std::get<0>(first);
  if (const auto said = decode_agent_message(line); said && std::holds_alternative<Join>(*said)) {
    Join join = std::get<Join>(*said);
    if (join.witness) co_return join;
  }
  const auto order = decode_coordinator_message(line);
  const auto* elsewhere = order ? std::get_if<Redirect>(&*order) : nullptr;
  if (elsewhere != nullptr && elsewhere->epoch > 0 && !closed_)
    step(HigherEpoch{elsewhere->epoch, elsewhere->coordinator});
  if (!order) witness_places_.erase(place);  // it is none any more
  co_return std::nullopt;
}

}  // namespace ddprun
