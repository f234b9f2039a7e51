// Server is the coordinator's shell: it accepts peers on one port, tells agents from store clients
// by their first byte, and hands each peer to its job.
//
// A coordinator inside an agent hosts that agent's job. `ddprun server` hosts any number of jobs:
// JobRegistry decides which one a node joins, and each has a port of its own for its store.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/gated_log.hpp"
#include "rendezvous/service/admission.hpp"
#include "rendezvous/service/job.hpp"
#include "rendezvous/service/job_registry.hpp"
#include "rendezvous/service/server_limits.hpp"
#include "rendezvous/service/witness.hpp"

namespace ddprun {

class Server {
 public:
  /// Listens on `address`:`port` for the agents of one job, and serves the job's store there. A
  /// `port` of 0 takes any free one: see port(). A `rules.master_port` of 0 becomes the port that
  /// was bound. The peers of a job of one node are this process's own user's, wherever it listens.
  /// Errors: kUnavailable, which names the address.
  static Result<std::unique_ptr<Server>> listen(const asio::any_io_executor& executor,
                                                CoordinatorRules rules,
                                                const asio::ip::address& address,
                                                std::uint16_t port, ServerLimits limits = {});
  /// Listens for the agents of any number of jobs, whose rules their first nodes bring. Errors:
  /// kUnavailable, which names the address.
  static Result<std::unique_ptr<Server>> listen(const asio::any_io_executor& executor,
                                                const asio::ip::address& address,
                                                std::uint16_t port, ServerLimits limits = {});

  /// Lets in only agents that prove a key of `tls`, and no client of the store. When many come at
  /// once, `handshake_threads` threads help the event loop. The coordinator of one job reaches
  /// other agents of it with `as_agent`. To be called before start().
  void lock(std::shared_ptr<const TlsContext> tls, int handshake_threads,
            std::shared_ptr<const TlsContext> as_agent = nullptr) {
    admission_.lock(std::move(tls), handshake_threads);
    if (only_) only_->reach_with(std::move(as_agent));
  }

  /// Keeps there which nodes fail. To be called before start().
  void remember_nodes_in(std::shared_ptr<NodeMemory> memory) {
    if (only_) only_->remember_nodes_in(memory);
    node_memory_ = std::move(memory);
  }

  /// etcd decides who coordinates the one job: `ask` gets WriteMembers and PublishVerdict, and what
  /// hear_etcd() is given is what it says. To be called before start().
  void ask_etcd_with(std::function<void(const CoordinatorAction&)> ask) {
    only_->ask_etcd_with(std::move(ask));
  }
  void hear_etcd(const CoordinatorEvent& said) { only_->hear_outside(said); }

  /// Starts to accept peers, and goes on until close().
  void start();

  /// Closes the listener and every job. Messages already queued to agents are still sent.
  void close();

  /// Tells the coordinator of one job whose orders the agent in this process obeys.
  void led_by(const Leader& leader) {
    if (only_) only_->led_by(leader);
  }

  bool closed() const { return !acceptor_.is_open(); }

  /// Tells how each of its jobs is now.
  std::vector<JobStatus> status() const;

  /// The port that was bound.
  std::uint16_t port() const { return port_; }

 private:
  struct Arrival {  // a peer that has joined
    std::shared_ptr<Job> job;
    std::shared_ptr<Channel> channel;
    Join join;
  };

  Server(asio::ip::tcp::acceptor acceptor, const ServerLimits& limits);

  asio::awaitable<void> accept_peers();
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  asio::awaitable<std::optional<Arrival>> meet(asio::ip::tcp::socket& socket);
  asio::awaitable<std::optional<Arrival>> meet_agent(std::shared_ptr<Channel> channel);
  Result<std::shared_ptr<Job>> job_of(const Join& join, const asio::ip::address& from);
  Result<std::shared_ptr<Job>> begin_job(const Join& join, const asio::ip::address& from);
  asio::awaitable<void> end_abandoned_jobs();
  bool send_to_leader(const Join& join, Channel& channel) const;
  void be_witness(std::shared_ptr<Channel> channel, const InviteWitness& invitation);
  Identity introduction(const Identify& question) const;

  const ServerLimits limits_;
  TimePoint started_;  // when another one may have been here before; not at a free port
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  Admission admission_;
  Newcomers newcomers_;
  GatedLog turned_away_{log::Level::kInfo};
  std::shared_ptr<NodeMemory> node_memory_;  // nullptr: each job has its own
  std::shared_ptr<Job> only_;  // the one job of an agent's coordinator; nullptr at `ddprun server`

  // Only `ddprun server` has these.
  JobRegistry registry_;                              // which jobs it hosts
  std::map<std::string, std::shared_ptr<Job>> jobs_;  // those in the registry, by run id
  std::shared_ptr<StoreBudget> stores_;               // the limit of all their stores together
  Witness witness_;                                   // its vote in jobs that it does not host
  asio::steady_timer sweep_;                          // when jobs are looked at that may be empty
};

}  // namespace ddprun
