#include "rendezvous/service/server.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "base/coroutines.hpp"
#include "base/log.hpp"
#include "base/match.hpp"
#include "base/system/accept.hpp"
#include "base/system/own_process.hpp"
#include "base/text.hpp"
#include "rendezvous/rounds/membership.hpp"
#include "rendezvous/store/store_protocol.hpp"

namespace ddprun {

namespace {

using asio::as_tuple;
using asio::use_awaitable;
using asio::ip::tcp;

/// Waits for the first byte that a peer says, and leaves it where it is. nullopt: it has gone.
asio::awaitable<std::optional<char>> first_byte(tcp::socket& socket) {
  boost::system::error_code error;
  socket.non_blocking(true, error);
  for (;;) {
    const auto [gone] = co_await socket.async_wait(tcp::socket::wait_read, as_tuple(use_awaitable));
    if (gone) co_return std::nullopt;
    char byte = 0;
    socket.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    if (!error) co_return byte;
    if (error != asio::error::would_block) co_return std::nullopt;
  }
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const asio::any_io_executor& executor,
                                               const asio::ip::address& address, std::uint16_t port,
                                               ServerLimits limits) {
  auto acceptor = listen_on(executor, {address, port});
  if (!acceptor) return acceptor.error();
  auto server = std::unique_ptr<Server>{new Server{std::move(*acceptor), limits}};
  if (port > 0) server->started_ = Clock::now();
  return server;
}

Result<std::unique_ptr<Server>> Server::listen(const asio::any_io_executor& executor,
                                               CoordinatorRules rules,
                                               const asio::ip::address& address, std::uint16_t port,
                                               ServerLimits limits) {
  auto server = listen(executor, address, port, limits);
  if (!server) return server;
  if (rules.master_port == 0) rules.master_port = (*server)->port();
  (*server)->only_ = std::make_shared<Job>(executor, std::move(rules));
  return server;
}

Server::Server(tcp::acceptor acceptor, const ServerLimits& limits)
    : limits_{limits},
      acceptor_{std::move(acceptor)},
      port_{acceptor_.local_endpoint().port()},
      newcomers_{limits.join_timeout, limits.newcomers_max},
      registry_{limits},
      stores_{std::make_shared<StoreBudget>(limits.stores_bytes_max)},
      witness_{acceptor_.get_executor(), limits},
      sweep_{acceptor_.get_executor()} {}

void Server::start() {
  if (only_) only_->start();
  start_coroutine(acceptor_.get_executor(), accept_peers(),
                  report_failure("accepting connections"));
  if (!only_)
    start_coroutine(acceptor_.get_executor(), end_abandoned_jobs(),
                    report_failure("ending empty jobs"));
}

void Server::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  sweep_.cancel();
  newcomers_.clear();
  if (only_) only_->close();
  witness_.close();
  for (const auto& [run_id, job] : std::exchange(jobs_, {})) job->close();
}

asio::awaitable<void> Server::accept_peers() {
  const bool alone = only_ && only_->rules().terms.has_one_node();
  const std::function<void(tcp::socket)> serve_one = [this](tcp::socket socket) {
    start_coroutine(acceptor_.get_executor(), serve(std::move(socket)), give_up_peer("a peer"));
  };
  co_await accept_all(acceptor_, serve_one, alone ? MayConnect::kOwnUser : MayConnect::kAnybody);
}

/// One deadline holds from the connection to the join. The agent is then served by a coroutine of
/// its own, so that all of this one's memory is free before the agent stays for hours.
asio::awaitable<void> Server::serve(tcp::socket socket) {
  Newcomers::Place place{newcomers_, socket.get_executor()};
  auto met = co_await before(place.has_to_go(), meet(socket));
  if (closed()) co_return;
  if (!met) {
    turned_away_.say(
        "a peer has not joined within {} ms, or too many were waiting to: it is closed",
        limits_.join_timeout.count());
  } else if (auto& arrival = *met) {
    auto& [job, channel, join] = *arrival;
    start_coroutine(acceptor_.get_executor(), job->serve(std::move(channel), std::move(join)),
                    give_up_peer("an agent"));
  }
}

/// Tells by its first byte what a peer is. nullopt: it does not join, and has what it came for.
asio::awaitable<std::optional<Server::Arrival>> Server::meet(tcp::socket& socket) {
  const std::optional<char> first = co_await first_byte(socket);
  if (!first || !admission_.admits(socket, *first)) co_return std::nullopt;
  if (admission_.is_agent(*first)) {
    const auto channel = admission_.open(std::move(socket));
    auto arrival = co_await meet_agent(channel);
    co_return arrival;
  }
  if (*first == kStoreFirstByte && only_)
    only_->serve_store(std::move(socket));
  else
    turned_away_.say("a peer began with {}, which is neither an agent's first byte nor a worker's",
                     printable({&*first, 1}));
  co_return std::nullopt;
}

asio::awaitable<std::optional<Server::Arrival>> Server::meet_agent(
    std::shared_ptr<Channel> channel) {
  channel->limit_lines(limits_.join_bytes_max);
  if (HandshakePool* const pool = admission_.pool_for(newcomers_.size()))
    co_await channel->secure(pool);  // receive() tells how it went
  const Result<std::string> line = co_await channel->receive();
  if (!line && line.error().kind == Error::Kind::kUnavailable) co_return std::nullopt;
  const auto message = line ? decode_agent_message(*line) : Result<AgentMessage>{line.error()};
  if (!message) {
    admission_.failed(*channel, message.error());
    // An agent of another version, or with terms beyond the limits, is to hear why.
    if (line) channel->send(encode(CoordinatorMessage{Refused{message.error().message}}));
    channel->close_when_sent();
    co_return std::nullopt;
  }
  if (const auto* question = std::get_if<Identify>(&*message)) {
    channel->send(encode(CoordinatorMessage{introduction(*question)}));
    channel->close_when_sent();
    const bool same_job = only_ && question->run_id == only_->rules().run_id;
    if (question->epoch > 0 && same_job)
      only_->superseded({question->epoch, question->coordinator});
  }
  if (const auto* invitation = std::get_if<InviteWitness>(&*message))
    be_witness(channel, *invitation);
  const auto* join = std::get_if<Join>(&*message);
  if (join == nullptr || send_to_leader(*join, *channel)) co_return std::nullopt;
  const auto may_join = admission_.may_join(*channel, *join);
  const auto job =
      may_join ? job_of(*join, channel->address()) : Result<std::shared_ptr<Job>>{may_join.error()};
  if (!job) {
    const bool other_job = only_ ? only_->rules().run_id != join->run_id : join->place > 0;
    channel->send(encode(CoordinatorMessage{Refused{job.error().message, other_job}}));
    channel->close_when_sent();
    co_return std::nullopt;
  }
  channel->limit_lines(kLineBytesMax);
  co_return Arrival{*job, channel, *join};
}

/// Tells a node that comes to the witness where the job's coordinator is, if that is known here and
/// the node was not there before.
bool Server::send_to_leader(const Join& join, Channel& channel) const {
  if (only_ || join.place == 0 || !admission_.may_speak_of(channel, join.run_id)) return false;
  const Leader leader = witness_.leader_of(join.run_id);
  if (leader.coordinator.empty() || leader.epoch <= join.voter.promised) return false;
  channel.send(encode(CoordinatorMessage{Redirect{leader.coordinator, leader.epoch}}));
  channel.close_when_sent();
  return true;
}

/// The vote goes on over the connection by itself, in the job whose key it has proven.
void Server::be_witness(std::shared_ptr<Channel> channel, const InviteWitness& invitation) {
  const auto may = only_ ? Result<void>{Error{Error::Kind::kUnavailable, "this is no witness"}}
                         : admission_.may_speak_of(*channel, invitation.run_id);
  if (!may) {
    channel->send(encode(CoordinatorMessage{Refused{may.error().message, true}}));
    return channel->close_when_sent();
  }
  channel->limit_lines(kLineBytesMax);
  start_coroutine(acceptor_.get_executor(), witness_.serve(std::move(channel), invitation),
                  give_up_peer("who asks for a vote"));
}

/// A server of one job does not reveal its name to nodes that do not know it. At any place of a job
/// but the first a `ddprun server` is its witness.
Result<std::shared_ptr<Job>> Server::job_of(const Join& join, const asio::ip::address& from) {
  if (join.witness)
    return Error{Error::Kind::kUnavailable,
                 "a witness votes for the candidate that asks it, and joins no job"};
  if (!only_ && join.place > 0)
    return Error{Error::Kind::kUnavailable, "this is the witness of the job, and hosts it not"};
  if (only_ && only_->rules().run_id == join.run_id) return only_;
  if (only_)
    return Error{Error::Kind::kUnavailable,
                 "this is the coordinator of another job than '--rdzv-id=" + join.run_id + "'"};
  const auto found = jobs_.find(join.run_id);
  const auto job = found == jobs_.end() ? nullptr : found->second;
  return match(
      registry_.decide(join, from.to_string(), job && job->has_nodes()),  //
      [&](const JobRegistry::Enter&) -> Result<std::shared_ptr<Job>> { return job; },
      [&](const JobRegistry::Begin&) { return begin_job(join, from); },
      [&](const JobRegistry::Replace&) {
        job->close();
        return begin_job(join, from);
      },
      [&](const JobRegistry::Refuse& refuse) -> Result<std::shared_ptr<Job>> {
        return Error{Error::Kind::kUnavailable, refuse.reason};
      });
}

Result<std::shared_ptr<Job>> Server::begin_job(const Join& join, const asio::ip::address& from) {
  const auto ended = [this, run_id = join.run_id] {
    log::info("job '{}' has ended", run_id);
    registry_.ended(run_id);
    jobs_.erase(run_id);
  };
  CoordinatorRules rules = rules_of(join);
  rules.leadership = LeadershipKind::kServer;
  rules.server_since = started_;
  const auto executor = acceptor_.get_executor();
  const auto job = std::make_shared<Job>(executor, std::move(rules), ended, stores_);
  if (join.terms.store == StoreAt::kLeader) {
    const auto opened = job->open_store(acceptor_.local_endpoint().address());
    if (!opened)
      return Error{opened.error().kind, "no port for the store: " + opened.error().message};
  }
  job->remember_nodes_in(node_memory_);
  job->start();
  log::info("job '{}' begins", join.run_id);
  registry_.begun(join, from.to_string());
  return jobs_[join.run_id] = job;
}

asio::awaitable<void> Server::end_abandoned_jobs() {
  constexpr int kLooksMeanwhile = 16;
  while (acceptor_.is_open()) {
    sweep_.expires_after(limits_.empty_job_kept / kLooksMeanwhile);
    co_await sweep_.async_wait(as_tuple(use_awaitable));
    std::vector<std::shared_ptr<Job>> abandoned;
    for (const auto& [run_id, job] : jobs_)
      if (registry_.abandoned(run_id, job->has_nodes(), Clock::now())) abandoned.push_back(job);
    for (const auto& job : abandoned) job->close();  // which takes it out of jobs_
    witness_.sweep(Clock::now());
  }
}

std::vector<JobStatus> Server::status() const {
  if (only_) return {only_->status()};
  std::vector<JobStatus> all;
  for (const auto& [run_id, job] : jobs_) all.push_back(job->status());
  return all;
}

Identity Server::introduction(const Identify& question) const {
  const bool same = only_ && question.run_id == only_->rules().run_id;
  const std::string jobs = !only_ ? std::to_string(registry_.jobs()) + " jobs"
                           : same ? "the same job"
                                  : "another job";
  const Leader leader =
      only_ ? (same ? only_->leader() : Leader{}) : witness_.leader_of(question.run_id);
  return {jobs, getpid(), host_name(), leader.epoch, leader.coordinator, !only_};
}

}  // namespace ddprun
