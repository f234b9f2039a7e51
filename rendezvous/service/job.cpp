#include "rendezvous/service/job.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/coroutines.hpp"
#include "base/endpoint.hpp"
#include "base/match.hpp"
#include "base/system/accept.hpp"
#include "rendezvous/service/client.hpp"
#include "rendezvous/tunnel/tunnel_exit.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

/// Agents may take this long to hear the verdict and go; then their connections are closed.
constexpr auto kGoodbyeTimeout = 60s;

}  // namespace

Job::Job(const asio::any_io_executor& executor, CoordinatorRules rules, std::function<void()> ended,
         std::shared_ptr<StoreBudget> stores)
    : machine_{std::move(rules), Clock::now()},
      store_{executor, StoreLimits{}, std::move(stores)},
      tick_{executor},
      search_{std::make_shared<JobSearch>(executor, machine_.rules().run_id)},
      ended_{std::move(ended)} {}

void Job::start() {
  const std::weak_ptr<Job> weak = weak_from_this();
  const auto tell = [weak](const CoordinatorEvent& said) {
    if (const auto self = weak.lock()) self->hear_outside(said);
  };
  const auto join = [weak](std::shared_ptr<Channel> channel, Join witness) {
    const auto self = weak.lock();
    if (!self) return channel->close();
    start_coroutine(self->tick_.get_executor(), self->serve(std::move(channel), std::move(witness)),
                    [self, report = report_failure("a witness")](
                        const std::exception_ptr& failure) { report(failure); });
  };
  search_->begin({tell, join});
  tick_.expires_at(machine_.next_tick().value_or(TimePoint::max()));
  start_coroutine(tick_.get_executor(), tick_when_due(), report_failure("a job's clock"));
}

Result<void> Job::open_store(const asio::ip::address& address) {
  if (auto opened = listen_for_workers({address, 0}); !opened) return opened;
  machine_.serve_store_at(store_acceptor_->local_endpoint().port());
  return {};
}

Result<void> Job::listen_for_workers(const tcp::endpoint& endpoint) {
  auto acceptor = listen_on(tick_.get_executor(), endpoint);
  if (!acceptor) return acceptor.error();
  boost::system::error_code ignored;
  if (store_acceptor_) store_acceptor_->close(ignored);
  store_acceptor_ = std::make_shared<tcp::acceptor>(std::move(*acceptor));
  start_coroutine(tick_.get_executor(), accept_store_clients(store_acceptor_),
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
  asio::post(tick_.get_executor(), [self, gone] { self->hear_outside(gone); });
}

/// The answer never comes while the machine takes a step.
void Job::recall_nodes(int question) {
  const auto executor = tick_.get_executor();
  const auto answer = [weak = weak_from_this(), executor, question](NodeMemory::Failures failures) {
    asio::post(executor, [weak, recalled = NodesRecalled{question, std::move(failures)}] {
      if (const auto self = weak.lock()) self->hear_outside(recalled);
    });
  };
  if (memory_) return memory_->recall(answer);
  answer(std::nullopt);
}

void Job::close() {
  if (std::exchange(closed_, true)) return;
  boost::system::error_code ignored;
  if (store_acceptor_) store_acceptor_->close(ignored);
  tick_.cancel();
  search_->close();
  for (const auto& [peer, channel] : agents_) channel->close_when_sent();
  store_.close();
  say_ended();
}

asio::awaitable<void> Job::serve(std::shared_ptr<Channel> channel, Join join) {
  const auto self = shared_from_this();
  if (closed_) co_return channel->close();
  const PeerId peer = ++peers_;
  agents_[peer] = channel;
  had_rounds_ = had_rounds_ || join.counters.round > 0;
  if (join.witness)
    witness_peer_ = peer;  // no worker of its host has to reach the store
  else
    ++agents_at_[channel->address()];
  std::unique_ptr<TunnelExit> tunnel;
  if (rules().terms.store == StoreAt::kLocal)
    tunnel = std::make_unique<TunnelExit>(channel, store_, [&, peer](std::uint32_t round) {
      return static_cast<int>(round) == round_ && agents_.contains(peer);
    });
  std::string reason;
  try {
    step(FromPeer{peer, std::move(join), channel->address().to_string()});
    reason = co_await hear(peer, channel);
  } catch (const std::exception& e) {  // usually out of memory: it costs this agent
    reason = e.what();
  }
  gone_.say("agent at {} is gone: {}", channel->peer(), reason);
  channel->close();
  if (agents_.contains(peer)) step(PeerLost{peer, reason});  // else the machine dropped it
  if ((machine_.ended() && agents_.empty()) || is_forgotten()) close();
}

/// At a `ddprun server`, where any node may begin one: no node is left, and there is no round that
/// one could come back to.
bool Job::is_forgotten() const {
  const bool is_hosted = rules().leadership == LeadershipKind::kServer;
  return is_hosted && round_ == 0 && !had_rounds_ && !has_nodes();
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

void Job::answer(const AskStatus& question, Channel& channel) const {
  for (StatusPart& part : parts_of<StatusPart>(to_json(status()), question.question))
    channel.send(encode(CoordinatorMessage{std::move(part)}));
}

void Job::serve_store(tcp::socket socket) {
  if (!closed_ && may_enter(socket)) store_.adopt(std::move(socket));
}

asio::awaitable<void> Job::accept_store_clients(std::shared_ptr<tcp::acceptor> acceptor) {
  const auto self = shared_from_this();
  const std::function<void(tcp::socket)> serve_one = [this](tcp::socket socket) {
    serve_store(std::move(socket));
  };
  co_await accept_all(*acceptor, serve_one);
}

void Job::drop(PeerId peer) {
  const auto agent = agents_.find(peer);
  if (agent == agents_.end()) return;
  const auto channel = std::move(agent->second);
  agents_.erase(agent);
  if (peer == witness_peer_)
    witness_peer_ = 0;
  else if (--agents_at_[channel->address()] == 0)
    agents_at_.erase(channel->address());
  channel->close_when_sent();
}

/// Lets in only who comes from where an agent of the job has come from, or from this machine.
bool Job::may_enter(const tcp::socket& socket) {
  boost::system::error_code gone;
  const auto remote = socket.remote_endpoint(gone).address();
  if (gone) return false;
  const bool direct = rules().terms.store == StoreAt::kLeader;
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

void Job::hear_outside(const CoordinatorEvent& said) {
  if (!closed_ && !machine_.ended()) step(said);
}

void Job::step(const CoordinatorEvent& event) {
  const bool had_ended = machine_.ended();
  for (const CoordinatorAction& action : machine_.step(event, Clock::now())) perform(action);
  if (machine_.ended() && !had_ended) {
    tick_.expires_after(kGoodbyeTimeout);
    return say_ended();
  }
  if (machine_.ended()) return;
  const TimePoint due = machine_.next_tick().value_or(TimePoint::max());
  if (due != tick_.expiry()) tick_.expires_at(due);
}

void Job::perform(const CoordinatorAction& action) {
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
      [&](const RecallNodes& a) { recall_nodes(a.question); },
      [&](const RememberNode& a) {
        if (memory_) memory_->remember(a.failure);
      },
      [&](const Probe& a) { search_->probe(a); }, [&](const AskLeaders& a) { search_->ask(a); },
      [&](const AnnounceLeader& a) { search_->announce(a); },
      [&](const InviteWitnesses& a) { search_->invite(a); },
      [&](const WriteMembers& a) {
        if (ask_etcd_) ask_etcd_(a);
      },
      [&](const PublishVerdict& a) {
        if (ask_etcd_) ask_etcd_(a);
      });
}

void Job::say_ended() {
  if (const auto ended = std::exchange(ended_, {})) ended();
}

}  // namespace ddprun
