#include "rendezvous/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "rendezvous/match.hpp"
#include "rendezvous/report_failure.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kFirstByteTimeout = 10s;    // a peer that connects and says nothing is dropped
constexpr auto kAcceptRetryDelay = 100ms;  // out of file descriptors: others may close some

RoundRules with_port(RoundRules rules, std::uint16_t port) {
  if (rules.master_port == 0) rules.master_port = port;
  return rules;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const asio::any_io_executor& executor,
                                               RoundRules rules, const asio::ip::address& address,
                                               std::uint16_t port) {
  tcp::acceptor acceptor{executor};
  const tcp::endpoint endpoint{address, port};
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error)
    return Error{Error::Kind::kUnavailable, "cannot listen on " + address.to_string() + " port " +
                                                std::to_string(port) + ": " + error.message()};
  return std::unique_ptr<Server>{new Server{std::move(acceptor), std::move(rules)}};
}

Server::Server(tcp::acceptor acceptor, RoundRules rules)
    : acceptor_{std::move(acceptor)},
      port_{acceptor_.local_endpoint().port()},
      machine_{with_port(std::move(rules), port_), Clock::now()},
      store_{acceptor_.get_executor()},
      tick_{acceptor_.get_executor()} {}

void Server::start() {
  tick_.expires_at(TimePoint::max());
  co_spawn(acceptor_.get_executor(), accept_loop(), report_failure("accepting connections"));
  co_spawn(acceptor_.get_executor(), tick_when_due(), report_failure("the coordinator's clock"));
}

void Server::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  tick_.cancel();
  for (const auto& [id, channel] : agents_) channel->close_when_sent();
  store_.close();
}

asio::awaitable<void> Server::accept_loop() {
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(as_tuple(use_awaitable));
    if (!error) {
      co_spawn(acceptor_.get_executor(), serve(std::move(socket)), report_failure("a peer"));
    } else if (acceptor_.is_open()) {
      spdlog::warn("cannot accept a connection: {}", error.message());
      asio::steady_timer pause{acceptor_.get_executor(), kAcceptRetryDelay};
      co_await pause.async_wait(as_tuple(use_awaitable));
    }
  }
}

asio::awaitable<void> Server::serve(tcp::socket socket) {
  std::array<char, 4096> bytes{};
  asio::steady_timer deadline{socket.get_executor(), kFirstByteTimeout};
  const auto first =
      co_await (socket.async_read_some(asio::buffer(bytes), as_tuple(use_awaitable)) ||
                deadline.async_wait(as_tuple(use_awaitable)));
  if (first.index() == 1) co_return;
  const auto [error, size] = std::get<0>(first);
  if (error) co_return;
  std::string head{bytes.data(), size};
  if (head[0] != kAgentFirstByte) {
    if (is_of_a_node(socket)) store_.adopt(std::move(socket), head);
    co_return;
  }
  co_await serve_agent(std::make_shared<Channel>(std::move(socket), std::move(head)));
}

/// Whoever comes to the store comes from where an agent of the job has come from.
bool Server::is_of_a_node(const tcp::socket& socket) const {
  boost::system::error_code gone;
  const auto remote = socket.remote_endpoint(gone).address();
  if (gone) return false;
  const bool known = std::ranges::any_of(
      agents_, [&](const auto& agent) { return agent.second->address() == remote; });
  if (known || remote == socket.local_endpoint(gone).address()) return true;
  spdlog::warn("refused a store client from {}: no node of the job is there", remote.to_string());
  return false;
}

asio::awaitable<void> Server::serve_agent(std::shared_ptr<Channel> channel) {
  NodeId node;  // known from its first message on, which must be Join
  for (;;) {
    const Result<std::string> line = co_await channel->receive();
    const auto message = line ? decode_agent_message(*line) : Result<AgentMessage>{line.error()};
    if (!message) {
      spdlog::info("agent at {} is gone: {}", channel->peer(), message.error().message);
      channel->close();
      const auto agent = agents_.find(node);  // gone already when the node left or was dropped
      if (agent != agents_.end() && agent->second == channel)
        step(NodeLost{node, message.error().message});
      co_return;
    }
    if (const auto* join = std::get_if<Join>(&*message)) {
      if (!node.empty() || agents_.contains(join->node)) co_return channel->close();
      node = join->node;
      agents_[node] = channel;
    }
    if (node.empty()) co_return channel->close();
    step(FromNode{node, *message});
  }
}

asio::awaitable<void> Server::tick_when_due() {
  while (acceptor_.is_open()) {
    co_await tick_.async_wait(as_tuple(use_awaitable));
    if (!acceptor_.is_open()) co_return;
    if (Clock::now() >= tick_.expiry()) step(Tick{});
    // Otherwise step() has moved the time: wait again.
  }
}

void Server::step(const RoundEvent& event) {
  for (const RoundAction& action : machine_.step(event, Clock::now())) perform(action);
  const TimePoint due = machine_.next_tick().value_or(TimePoint::max());
  if (due != tick_.expiry()) tick_.expires_at(due);
}

void Server::perform(const RoundAction& action) {
  match(
      action,
      [&](const SendTo& a) {
        const auto agent = agents_.find(a.node);
        if (agent != agents_.end()) agent->second->send(encode(a.message));
      },
      [&](const DropNode& a) {
        const auto agent = agents_.find(a.node);
        if (agent == agents_.end()) return;
        agent->second->close_when_sent();
        agents_.erase(agent);
      },
      [&](const OpenStore& a) { store_.begin_round(a.world_size); });
}

}  // namespace ddprun
