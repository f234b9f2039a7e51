// Job: one job at a coordinator. It is the shell of a CoordinatorMachine: it owns the connections
// of the job's agents and its store, reads the clock, and performs what the machine decides.
//
// The server shares a Job with the coroutines that serve its agents; it lives as long as one of
// them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/gated_log.hpp"
#include "rendezvous/rounds/coordinator_machine.hpp"
#include "rendezvous/service/job_search.hpp"
#include "rendezvous/service/node_memory.hpp"
#include "rendezvous/store/store_server.hpp"
#include "rendezvous/transport/channel.hpp"

namespace ddprun {

class Job : public std::enable_shared_from_this<Job> {
 public:
  /// A job that begins to wait for its nodes now. `ended` is called once: when the verdict has been
  /// queued for every agent, or close() was called. The memory of its store also counts in
  /// `stores`, if it is given.
  Job(
      const asio::any_io_executor& executor, CoordinatorRules rules,
      std::function<void()> ended = [] {}, std::shared_ptr<StoreBudget> stores = nullptr);

  /// Keeps there which nodes fail, for other jobs, and asks there which have. To be called before
  /// start().
  void remember_nodes_in(std::shared_ptr<NodeMemory> memory) { memory_ = std::move(memory); }

  /// Starts the clock, without which no timeout passes. To be called once.
  void start();

  /// Gives the job's store a port of its own, any free one at `address`, which its workers get. To
  /// be called before the first agent joins. Errors: kUnavailable, which names the address.
  Result<void> open_store(const asio::ip::address& address);

  /// Reaches other agents of the job with that from now on.
  void reach_with(std::shared_ptr<const TlsContext> tls) { search_->reach_with(std::move(tls)); }

  /// Asks `ask` what only etcd can do. To be called before start().
  void ask_etcd_with(std::function<void(const CoordinatorAction&)> ask) {
    ask_etcd_ = std::move(ask);
  }
  /// Takes what comes from elsewhere than from an agent, and may come too late: etcd's words.
  void hear_outside(const CoordinatorEvent& said);

  /// There is a coordinator of this job elsewhere.
  void superseded(const HigherEpoch& by) {
    if (!closed_) step(by);
  }

  /// Tells whose orders the agent in this process obeys.
  void led_by(const Leader& leader) {
    if (!closed_) step(AgentFollows{leader});
  }
  /// Whose job it is, as far as is known here.
  Leader leader() const { return machine_.leader(); }

  /// Serves an agent that has sent `join`, until it has gone.
  asio::awaitable<void> serve(std::shared_ptr<Channel> channel, Join join);

  /// Serves a client of the store. It is refused when it comes from an address where the job has no
  /// node, and with --store local always: agents bring their workers' bytes themselves.
  void serve_store(asio::ip::tcp::socket socket);

  /// Closes the store, and every agent's connection when what is queued for it has been sent.
  void close();

  const CoordinatorRules& rules() const { return machine_.rules(); }
  bool has_nodes() const { return machine_.has_nodes(); }

  /// Tells how the job is now.
  JobStatus status() const { return machine_.status(Clock::now(), unix_time_ms()); }

 private:
  Result<void> listen_for_workers(const asio::ip::tcp::endpoint& endpoint);
  void move_store(const OpenStore& order);
  void recall_nodes(int question);
  asio::awaitable<void> accept_store_clients(std::shared_ptr<asio::ip::tcp::acceptor> acceptor);
  asio::awaitable<void> tick_when_due();
  asio::awaitable<std::string> hear(PeerId peer, const std::shared_ptr<Channel>& channel);
  bool may_enter(const asio::ip::tcp::socket& socket);
  void answer(const AskStatus& question, Channel& channel) const;
  void drop(PeerId peer);
  void step(const CoordinatorEvent& event);
  void perform(const CoordinatorAction& action);
  bool is_forgotten() const;
  void say_ended();

  CoordinatorMachine machine_;
  StoreServer store_;
  std::shared_ptr<asio::ip::tcp::acceptor>
      store_acceptor_;                                    // null: the store has no port of its own
  std::map<PeerId, std::shared_ptr<Channel>> agents_;     // those that the machine has not dropped
  PeerId peers_ = 0;                                      // that have come so far
  std::unordered_map<asio::ip::address, int> agents_at_;  // how many come from each address
  asio::steady_timer tick_;
  std::shared_ptr<JobSearch> search_;
  PeerId witness_peer_ = 0;  // 0: none is there
  std::function<void()> ended_;
  std::function<void(const CoordinatorAction&)> ask_etcd_;
  std::shared_ptr<NodeMemory> memory_;  // nullptr: nothing outlives this job
  GatedLog refused_{log::Level::kWarning};
  GatedLog gone_{log::Level::kInfo};
  int round_ = 0;            // the one that the store serves; 0: none yet
  bool had_rounds_ = false;  // at a coordinator before this one
  bool closed_ = false;
};

}  // namespace ddprun
