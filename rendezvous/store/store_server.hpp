// StoreServer serves torch's TCPStore clients, on connections that somebody else has accepted or
// that come through an agent.
//
// It is the shell around Store: it owns the connections, wakes those whose wait has ended, closes
// those that misbehave or never begin to speak, with one line in the log, and empties everything
// between rounds. It works in turns: it reads all sockets that have become ready, serves their
// requests, and then sends all replies. Between two turns the event loop runs other handlers. The
// executor's one thread runs all of it. The caller listens and tells the protocols apart.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/gated_log.hpp"
#include "rendezvous/store/store_connection.hpp"
#include "rendezvous/store/store_limits.hpp"
#include "rendezvous/store/store_session.hpp"
#include "rendezvous/transport/edge_poll.hpp"

namespace ddprun {

class StoreServer {
 public:
  /// An empty store, without clients yet. The memory that its clients take also counts in
  /// `whole`, if it is given.
  explicit StoreServer(const boost::asio::any_io_executor& executor, StoreLimits limits = {},
                       std::shared_ptr<StoreBudget> whole = nullptr);
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Serves `socket` from now on.
  void adopt(boost::asio::ip::tcp::socket socket);

  /// Serves a client without a socket here, whose connection `make` makes from the server's id for
  /// it and what sessions share. The caller says what was received() for it, and calls flush() when
  /// that is all for the moment, perhaps of several clients. Any of these calls may destroy a
  /// connection, which is how it learns that it was closed.
  using MakeConnection = std::function<std::unique_ptr<StoreConnection>(ClientId, StoreState&)>;
  StoreConnection& adopt(const MakeConnection& make);
  void received(StoreConnection& connection, std::string_view bytes);
  void flush();
  /// Gives a turn to a connection that has become unfinished() outside of one.
  void go_on_soon(StoreConnection& connection);
  /// Closes a connection, if it is still there.
  void close_connection(ClientId id);

  /// Closes all connections and forgets all keys, so that nothing of a round is seen in the next.
  /// `world_size` is the round's number of ranks; with it, repeated init_process_group() calls of a
  /// process get separate keys. 0: it is not known.
  void begin_round(std::size_t world_size = 0);

  /// How many clients are connected.
  std::size_t connections() const { return connections_.size(); }

  /// How much of StoreLimits::memory_bytes_max is used.
  std::size_t bytes_used() const { return state_.store.budget().bytes_used(); }

  /// Closes all connections.
  void close();

 private:
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
  std::vector<ClientId> queue_;     // those with a turn coming; some may be gone
  std::vector<ClientId> touched_;   // those that may have something to send; some may be gone
  std::deque<Newcomer> newcomers_;  // in the order of their deadlines; some have validated since
  ClientId last_id_ = 0;
  bool turn_posted_ = false;  // take_turn() is in the event loop's queue
  bool polling_ = false;      // a wait for the poll is pending
  bool timer_runs_ = false;   // a wait for the first newcomer's deadline is pending
  GatedLog refused_{log::Level::kInfo};
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // handlers check it
};

}  // namespace ddprun
