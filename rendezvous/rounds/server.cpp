#include "rendezvous/rounds/server.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/accept.hpp"
#include "base/match.hpp"
#include "base/own_process.hpp"
#include "base/report_failure.hpp"

namespace ddprun {

namespace {

using namespace asio::experimental::awaitable_operators;
using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kFirstByteTimeout = 10s;  // a peer that connects and says nothing is dropped

/// Reads what a peer says first: up to 4096 bytes, or "" when it says nothing in time. This is a
/// coroutine of its own so that its buffer is freed before an agent stays for hours.
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
  if (head.empty() || !door_.admits(socket, head)) co_return;
  if (!door_.is_agent(head)) {
    if (only_) only_->serve_store(std::move(socket), head);
    co_return;
  }
  const auto channel = door_.open(std::move(socket), std::move(head));
  co_await serve_agent(channel);
}

asio::awaitable<void> Server::serve_agent(std::shared_ptr<Channel> channel) {
  const Result<std::string> line = co_await channel->receive();
  const auto message = line ? decode_agent_message(*line) : Result<AgentMessage>{line.error()};
  if (!message) {
    door_.failed(*channel, message.error());
    co_return channel->close();
  }
  if (std::holds_alternative<WhoIsThere>(*message)) {
    channel->send(encode(CoordinatorMessage{introduction()}));
    co_return channel->close_when_sent();
  }
  const auto* join = std::get_if<Join>(&*message);
  if (join == nullptr) co_return channel->close();
  const auto may_join = door_.may_join(*channel, *join);
  const auto job = may_join ? job_of(*join) : Result<std::shared_ptr<Job>>{may_join.error()};
  if (!job) {
    channel->send(encode(CoordinatorMessage{Refused{job.error().message}}));
    co_return channel->close_when_sent();
  }
  co_await (*job)->serve(channel, *join);
}

Result<std::shared_ptr<Job>> Server::job_of(const Join& join) {
  if (only_) return only_;
  const auto found = jobs_.find(join.run_id);
  const auto job = found == jobs_.end() ? nullptr : found->second;
  return match(
      book_.decide(join, job && job->has_nodes()),  //
      [&](const JobBook::Enter&) -> Result<std::shared_ptr<Job>> { return job; },
      [&](const JobBook::Begin&) { return begin_job(join); },
      [&](const JobBook::Replace&) {
        job->close();
        return begin_job(join);
      },
      [&](const JobBook::Refuse& refuse) -> Result<std::shared_ptr<Job>> {
        return Error{Error::Kind::kUnavailable, refuse.reason};
      });
}

Result<std::shared_ptr<Job>> Server::begin_job(const Join& join) {
  const auto job =
      std::make_shared<Job>(acceptor_.get_executor(), rules_of(join), [this, run_id = join.run_id] {
        spdlog::info("job '{}' has ended", run_id);
        book_.ended(run_id);
        jobs_.erase(run_id);
      });
  if (join.terms.store == StoreAt::kLeader) {
    const auto opened = job->open_store(acceptor_.local_endpoint().address());
    if (!opened)
      return Error{opened.error().kind, "no port for the store: " + opened.error().message};
  }
  job->start();
  spdlog::info("job '{}' begins", join.run_id);
  book_.begun(join);
  return jobs_[join.run_id] = job;
}

Introduction Server::introduction() const {
  const std::string jobs =
      only_ ? "job '" + only_->rules().run_id + "'" : std::to_string(book_.jobs()) + " jobs";
  return {jobs, getpid(), host_name()};
}

}  // namespace ddprun
