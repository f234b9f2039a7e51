// Job: one job at a coordinator. The shell of its RoundMachine: it owns the connections of its
// agents and its store, reads the clock, and performs what the machine decides.
//
// A Job is shared by the server and by the coroutines that serve its agents; the last one ends it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "rendezvous/rounds/round_machine.hpp"
#include "rendezvous/store/store_server.hpp"
#include "rendezvous/wire/channel.hpp"

namespace ddprun {

class Job : public std::enable_shared_from_this<Job> {
 public:
  /// `ended` is called once, when the verdict has been sent or close() was called.
  Job(
      const asio::any_io_executor& executor, RoundRules rules, std::function<void()> ended = [] {});

  /// Starts the clock.
  void start();

  /// Gives the job a port of its own for its store, any free one at `address`, and tells it to the
  /// workers. To be called before the first agent joins. Errors: kUnavailable.
  Result<void> open_store(const asio::ip::address& address);

  /// Serves an agent that has sent `join`, until it has gone.
  asio::awaitable<void> serve(std::shared_ptr<Channel> channel, Join join);

  /// A client of the store, which has sent `head` already. Only those from nodes of the job are let
  /// in, and with --store local none: their agents hand them on.
  void serve_store(asio::ip::tcp::socket socket, std::string_view head);

  void close();

  const RoundRules& rules() const { return machine_.rules(); }
  bool has_nodes() const { return machine_.has_nodes(); }

 private:
  asio::awaitable<void> accept_store_clients();
  asio::awaitable<void> tick_when_due();
  bool may_enter(const asio::ip::tcp::socket& socket) const;
  bool is_agent(const NodeId& node, const std::shared_ptr<Channel>& channel) const;
  void drop(const NodeId& node);
  void step(const RoundEvent& event);
  void perform(const RoundAction& action);
  void say_ended();

  RoundMachine machine_;
  StoreServer store_;
  asio::ip::tcp::acceptor store_acceptor_;
  std::map<NodeId, std::shared_ptr<Channel>> agents_;
  std::unordered_map<asio::ip::address, int> agents_at_;  // how many are from there
  asio::steady_timer tick_;
  std::function<void()> ended_;
  int round_ = 0;  // that the store is open for
  bool closed_ = false;
};

}  // namespace ddprun
