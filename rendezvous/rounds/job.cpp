#include "rendezvous/rounds/job.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/accept.hpp"
#include "base/endpoint.hpp"
#include "base/match.hpp"
#include "base/report_failure.hpp"
#include "rendezvous/rounds/client.hpp"
#include "rendezvous/tunnel/tunnel_exit.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

/// Agents may take so long to hear the verdict and go; then their connections are closed.
constexpr auto kGoodbyeTimeout = 60s;

constexpr auto kKnockTimeout = 1s;
constexpr auto kHeraldInterval = 1s;
constexpr auto kAskTimeout = 1s;
constexpr auto kAskPatience = 2s;  // looking up a name cannot be given up
constexpr auto kAskInterval = 500ms;

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
  LookedAround seen{{}, true};
  asio::steady_timer late;  // expires when the answers are waited for no longer
};

Job::Job(const asio::any_io_executor& executor, RoundRules rules, std::function<void()> ended,
         std::shared_ptr<StoreBudget> stores)
    : machine_{std::move(rules), Clock::now()},
      store_{executor, StoreLimits{}, std::move(stores)},
      tick_{executor},
      closing_{executor, TimePoint::max()},
      ended_{std::move(ended)} {}

void Job::start() {
  tick_.expires_at(TimePoint::max());
  co_spawn(tick_.get_executor(), tick_when_due(), report_failure("a job's clock"));
  if (machine_.may_begin_job())
    co_spawn(tick_.get_executor(), look_for_leader(), report_failure("asking for a coordinator"));
}

Result<void> Job::open_store(const asio::ip::address& address) {
  if (const auto opened = listen_for_workers({address, 0}); !opened) return opened;
  machine_.serve_store_at(store_acceptor_->local_endpoint().port());
  return {};
}

Result<void> Job::listen_for_workers(const tcp::endpoint& endpoint) {
  auto acceptor = listen_on(tick_.get_executor(), endpoint);
  if (!acceptor) return acceptor.error();
  boost::system::error_code ignored;
  if (store_acceptor_) store_acceptor_->close(ignored);
  store_acceptor_ = std::make_shared<tcp::acceptor>(std::move(*acceptor));
  co_spawn(tick_.get_executor(), accept_store_clients(store_acceptor_),
           report_failure("a job's store"));
  return {};
}

/// To where the workers of a round look for it that was begun by a server of before.
void Job::move_store(const OpenStore& order) {
  const tcp::endpoint endpoint{store_acceptor_->local_endpoint().address(),
                               static_cast<std::uint16_t>(order.port)};
  const auto moved = listen_for_workers(endpoint);
  if (moved) return machine_.serve_store_at(order.port);
  const auto self = shared_from_this();
  const StoreGone gone{order.round, moved.error().message};
  asio::post(tick_.get_executor(), [self, gone] {
    if (!self->closed_ && !self->machine_.ended()) self->step(gone);
  });
}

void Job::close() {
  if (std::exchange(closed_, true)) return;
  boost::system::error_code ignored;
  if (store_acceptor_) store_acceptor_->close(ignored);
  tick_.cancel();
  closing_.cancel();
  for (const auto& [peer, channel] : agents_) channel->close_when_sent();
  store_.close();
  say_ended();
}

asio::awaitable<void> Job::serve(std::shared_ptr<Channel> channel, Join join) {
  const auto self = shared_from_this();
  if (closed_) co_return channel->close();
  const PeerId peer = ++peers_;
  agents_[peer] = channel;
  ++agents_at_[channel->address()];
  std::unique_ptr<TunnelExit> tunnel;
  if (rules().store == StoreAt::kLocal)
    tunnel = std::make_unique<TunnelExit>(channel, store_, [&, peer](std::uint32_t round) {
      return static_cast<int>(round) == round_ && agents_.contains(peer);
    });
  std::string reason;
  try {
    step(FromPeer{peer, std::move(join), channel->address().to_string()});
    reason = co_await hear(peer, channel);
  } catch (const std::exception& e) {  // out of memory, mostly: it costs this agent
    reason = e.what();
  }
  gone_.say("agent at {} is gone: {}", channel->peer(), reason);
  channel->close();
  if (agents_.contains(peer)) step(PeerLost{peer, reason});  // else the machine dropped it
  if (machine_.ended() && agents_.empty()) close();
}

/// Hands on what the agent says until it has gone, and returns why that is.
asio::awaitable<std::string> Job::hear(PeerId peer, const std::shared_ptr<Channel>& channel) {
  for (;;) {
    const Result<std::string> line = co_await channel->receive();
    const auto message = line ? decode_agent_message(*line) : Result<AgentMessage>{line.error()};
    if (!message) co_return message.error().message;
    if (std::holds_alternative<Join>(*message)) co_return "it joined twice";
    if (const auto* question = std::get_if<AskStatus>(&*message)) answer(*question, *channel);
    step(FromPeer{peer, *message});
  }
}

/// The answer is of many bytes for a great job: it goes out in pieces between other lines.
void Job::answer(const AskStatus& question, Channel& channel) const {
  const std::string text = to_json(status());
  for (std::size_t begin = 0; begin < text.size(); begin += kStatusPartBytesMax) {
    const bool last = begin + kStatusPartBytesMax >= text.size();
    channel.send(encode(CoordinatorMessage{
        StatusPart{question.question, text.substr(begin, kStatusPartBytesMax), last}}));
  }
}

void Job::serve_store(tcp::socket socket, std::string_view head) {
  if (!closed_ && may_enter(socket)) store_.adopt(std::move(socket), head);
}

asio::awaitable<void> Job::accept_store_clients(std::shared_ptr<tcp::acceptor> acceptor) {
  const auto self = shared_from_this();
  const std::function<void(tcp::socket)> serve_one = [this](tcp::socket socket) {
    serve_store(std::move(socket), "");
  };
  co_await accept_all(*acceptor, serve_one);
}

void Job::drop(PeerId peer) {
  const auto agent = agents_.find(peer);
  if (agent == agents_.end()) return;
  const auto channel = std::move(agent->second);
  agents_.erase(agent);
  if (--agents_at_[channel->address()] == 0) agents_at_.erase(channel->address());
  channel->close_when_sent();
}

/// Lets in only who comes from where an agent of the job has come from, or from this machine.
bool Job::may_enter(const tcp::socket& socket) {
  boost::system::error_code gone;
  const auto remote = socket.remote_endpoint(gone).address();
  if (gone) return false;
  const bool direct = rules().store == StoreAt::kLeader;
  const bool known = agents_at_.contains(remote) || remote == socket.local_endpoint(gone).address();
  if (direct && known) return true;
  refused_.say("refused a store client from {}: {}", remote.to_string(),
               direct ? "no node of the job is there" : "with --store local, agents bring them");
  return false;
}

asio::awaitable<void> Job::tick_when_due() {
  const auto self = shared_from_this();
  while (!closed_) {
    co_await tick_.async_wait(as_tuple(use_awaitable));
    if (closed_) co_return;
    if (Clock::now() < tick_.expiry()) continue;  // step() has moved the alarm
    if (machine_.ended()) co_return close();
    step(Tick{});
  }
}

void Job::step(const RoundEvent& event) {
  const bool had_ended = machine_.ended();
  for (const RoundAction& action : machine_.step(event, Clock::now())) perform(action);
  if (machine_.ended() && !had_ended) {
    tick_.expires_after(kGoodbyeTimeout);
    return say_ended();
  }
  if (machine_.ended()) return;
  const TimePoint due = machine_.next_tick().value_or(TimePoint::max());
  if (due != tick_.expiry()) tick_.expires_at(due);
}

void Job::perform(const RoundAction& action) {
  match(
      action,
      [&](const SendTo& a) {
        const auto agent = agents_.find(a.peer);
        if (agent != agents_.end()) agent->second->send(encode(a.message));
      },
      [&](const DropPeer& a) { drop(a.peer); },
      [&](const OpenStore& a) {
        round_ = a.round;
        store_.begin_round(a.world_size);
        if (a.port > 0 && store_acceptor_) move_store(a);
      },
      [&](const Knock& a) {
        co_spawn(tick_.get_executor(), knock(a), report_failure("knocking at an agent"));
      },
      [&](const Herald& a) {
        co_spawn(tick_.get_executor(), herald(a), report_failure("telling of a new coordinator"));
      },
      [&](const BeginWorld& a) {
        if (ask_referee_) ask_referee_(a);
      },
      [&](const TellVerdict& a) {
        if (ask_referee_) ask_referee_(a);
      });
}

/// Asks the system of an agent's host whether somebody listens there still: when nobody does, the
/// agent's process is gone. Who is alive is connected to, and that is all. A process that is ending
/// may still take the connection, and ends it at once: then it is asked again.
asio::awaitable<void> Job::knock(Knock order) {
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
  if (!closed_ && !machine_.ended()) step(Knocked{order.node, refused});
}

/// Tells where the coordinator is to whoever may take himself for it, for as long as it is here.
asio::awaitable<void> Job::herald(Herald order) {
  const auto self = shared_from_this();
  auto telling = tell_again_and_again(order);
  auto closing = closing_.async_wait(as_tuple(use_awaitable));
  co_await (std::move(telling) || std::move(closing));
}

asio::awaitable<void> Job::tell_again_and_again(const Herald& order) {
  asio::steady_timer pause{tick_.get_executor()};
  const Hello hello = [&](const Channel&) {
    return WhoIsThere{rules().run_id, order.epoch, rules().endpoint};
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
  const Hello hello = [this](const Channel&) { return WhoIsThere{rules().run_id}; };
  const TellUser nobody = [](const std::string&) {};
  if (endpoint) {
    const auto answer =
        co_await reach(*endpoint, {kAskTimeout, 0s, kAskTimeout}, hello, nobody, tls_);
    if (answer) answer->channel->close();
    const bool silent = !answer && answer.error().kind != Error::Kind::kUnavailable;
    if (silent) asking->seen.all = false;
    const auto* told = answer ? std::get_if<Introduction>(&answer->answer) : nullptr;
    if (told != nullptr && told->epoch > asking->seen.leader.epoch)
      asking->seen.leader = {told->epoch, told->coordinator};
  }
  --asking->open;
  asking->late.cancel();
}

void Job::say_ended() {
  if (const auto ended = std::exchange(ended_, {})) ended();
}

}  // namespace ddprun
