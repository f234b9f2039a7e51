// StoreServer: serves torch's TCPStore clients on connections that somebody else has accepted, or
// that come through an agent.
//
// The shell around Store: it owns the connections, wakes those whose wait has ended, closes those
// that misbehave or never begin, with one line in the log, and empties everything between rounds.
// It works in turns: all sockets that have become ready are read and their requests served, and
// then all replies are sent. Between two turns others of the event loop have theirs.
// One thread runs all of it: the one of the executor. Listening and telling protocols apart are
// the caller's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_gate.hpp"
#include "rendezvous/store/store_connection.hpp"
#include "rendezvous/store/store_limits.hpp"
#include "rendezvous/store/store_session.hpp"
#include "rendezvous/wire/edge_poll.hpp"

namespace ddprun {

class StoreServer {
 public:
  explicit StoreServer(const boost::asio::any_io_executor& executor, StoreLimits limits = {});
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Serves `socket` from now on. `already_read` are the bytes the caller took from it.
  void adopt(boost::asio::ip::tcp::socket socket, std::string_view already_read);

  /// A client without a socket here: `make` has the server's id for it and what sessions share. The
  /// caller tells what it has received(), and after some of it, perhaps of several clients, has the
  /// server flush() its replies. Any call may close a connection: its destructor tells.
  using MakeConnection = std::function<std::unique_ptr<StoreConnection>(ClientId, StoreState&)>;
  StoreConnection& adopt(const MakeConnection& make);
  void received(StoreConnection& connection, std::string_view bytes);
  void flush();
  /// It has become unfinished() outside of a turn.
  void go_on_soon(StoreConnection& connection);
  void close_connection(ClientId id);

  /// Closes all connections and forgets all keys: nothing of a round is seen in the next. With the
  /// number of ranks, repeated init_process_group() calls of a process get separate keys.
  void begin_round(std::size_t world_size = 0);

  std::size_t connections() const { return connections_.size(); }

  /// Of the memory that StoreLimits grants.
  std::size_t bytes_used() const { return state_.store.budget().bytes_used(); }
  void close();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Newcomer {  // has not sent a complete VALIDATE
    ClientId id;
    TimePoint deadline;
  };

  StoreConnection* find(ClientId id) const;
  void take_turn();
  void expect_turn();
  void give_turn(StoreConnection& connection);
  void served(StoreConnection& connection, const Result<void>& result);
  void touch(StoreConnection& connection);
  void flush_touched();

  void expect_validate(ClientId id);
  void drop_silent_newcomers();
  void watch_newcomers();
  void log_refusal(StoreConnection& connection, std::string_view reason);

  StoreState state_;
  boost::asio::steady_timer timer_;
  EdgePoll poll_;
  boost::unordered_flat_map<ClientId, std::unique_ptr<StoreConnection>> connections_;
  std::vector<ClientId> queue_;     // who has a turn coming; some may be gone
  std::vector<ClientId> touched_;   // who may have something to send; some may be gone
  std::deque<Newcomer> newcomers_;  // in the order of their deadlines; some have validated since
  ClientId last_id_ = 0;
  bool turn_posted_ = false;
  bool polling_ = false;
  bool timer_runs_ = false;
  LogGate log_gate_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // for handlers
};

}  // namespace ddprun
