#include "rendezvous/rounds/server.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/accept.hpp"
#include "base/report_failure.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kFirstByteTimeout = 10s;  // a peer that connects and says nothing is dropped

/// What a peer says first; "" when it says nothing. A coroutine of its own, whose buffer is gone
/// before an agent stays for hours.
asio::awaitable<std::string> first_bytes(tcp::socket& socket) {
  std::array<char, 4096> bytes{};
  asio::steady_timer deadline{socket.get_executor(), kFirstByteTimeout};
  const auto first =
      co_await (socket.async_read_some(asio::buffer(bytes), as_tuple(use_awaitable)) ||
                deadline.async_wait(as_tuple(use_awaitable)));
  if (first.index() == 1) co_return "";
  const auto [error, size] = std::get<0>(first);
  co_return std::string{bytes.data(), error ? 0 : size};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const asio::any_io_executor& executor,
                                               const asio::ip::address& address,
                                               std::uint16_t port) {
  auto acceptor = listen_on(executor, {address, port});
  if (!acceptor) return acceptor.error();
  return std::unique_ptr<Server>{new Server{std::move(*acceptor)}};
}

Result<std::unique_ptr<Server>> Server::listen(const asio::any_io_executor& executor,
                                               RoundRules rules, const asio::ip::address& address,
                                               std::uint16_t port) {
  auto server = listen(executor, address, port);
  if (!server) return server;
  if (rules.master_port == 0) rules.master_port = (*server)->port();
  (*server)->only_ = std::make_shared<Job>(executor, std::move(rules));
  return server;
}

Server::Server(tcp::acceptor acceptor)
    : acceptor_{std::move(acceptor)}, port_{acceptor_.local_endpoint().port()} {}

void Server::start() {
  if (only_) only_->start();
  co_spawn(acceptor_.get_executor(), accept_peers(), report_failure("accepting connections"));
}

void Server::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  if (only_) only_->close();
  for (const auto& [run_id, job] : std::exchange(jobs_, {})) job->close();
}

asio::awaitable<void> Server::accept_peers() {
  co_await accept_all(acceptor_, [this](tcp::socket socket) {
    co_spawn(acceptor_.get_executor(), serve(std::move(socket)), report_failure("a peer"));
  });
}

asio::awaitable<void> Server::serve(tcp::socket socket) {
  std::string head = co_await first_bytes(socket);
  if (head.empty()) co_return;
  if (head[0] != kAgentFirstByte) {
    if (only_) only_->serve_store(std::move(socket), head);
    co_return;
  }
  co_await serve_agent(std::make_shared<Channel>(std::move(socket), std::move(head)));
}

/// Its first message says which job it belongs to.
asio::awaitable<void> Server::serve_agent(std::shared_ptr<Channel> channel) {
  const Result<std::string> line = co_await channel->receive();
  const auto message = line ? decode_agent_message(*line) : Result<AgentMessage>{line.error()};
  if (!message) {
    spdlog::info("{} is no agent: {}", channel->peer(), message.error().message);
    co_return channel->close();
  }
  if (std::holds_alternative<WhoIsThere>(*message)) {
    channel->send(encode(CoordinatorMessage{introduction()}));
    co_return channel->close_when_sent();
  }
  const auto* join = std::get_if<Join>(&*message);
  if (join == nullptr) co_return channel->close();
  const auto job = job_of(*join);
  if (!job) {
    channel->send(encode(CoordinatorMessage{Refused{job.error().message}}));
    co_return channel->close_when_sent();
  }
  co_await (*job)->serve(channel, *join);
}

Result<std::shared_ptr<Job>> Server::job_of(const Join& join) {
  if (only_) return only_;
  const auto found = jobs_.find(join.run_id);
  if (found == jobs_.end()) return new_job(join);
  // All its nodes are gone, and somebody starts a job of that name with other options: a new one.
  const auto job = found->second;
  if (job->has_nodes() || terms_of(job->rules()) == join.terms) return job;
  job->close();
  return new_job(join);
}

Result<std::shared_ptr<Job>> Server::new_job(const Join& join) {
  if (jobs_.size() >= kJobsMax)
    return Error{Error::Kind::kUnavailable,
                 "this server hosts " + std::to_string(kJobsMax) + " jobs already"};
  const auto job =
      std::make_shared<Job>(acceptor_.get_executor(), rules_of(join), [this, run_id = join.run_id] {
        spdlog::info("job '{}' has ended", run_id);
        jobs_.erase(run_id);
      });
  if (join.terms.store == StoreAt::kLeader) {
    const auto opened = job->open_store(acceptor_.local_endpoint().address());
    if (!opened)
      return Error{opened.error().kind, "no port for the store: " + opened.error().message};
  }
  job->start();
  spdlog::info("job '{}' begins", join.run_id);
  return jobs_[join.run_id] = job;
}

Introduction Server::introduction() const {
  boost::system::error_code unnamed;
  const std::string host = asio::ip::host_name(unnamed);
  const std::string jobs =
      only_ ? "job '" + only_->rules().run_id + "'" : std::to_string(jobs_.size()) + " jobs";
  return {jobs, getpid(), host};
}

}  // namespace ddprun
