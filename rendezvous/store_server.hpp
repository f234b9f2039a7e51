// StoreServer: serves torch's TCPStore clients on connections that somebody else has accepted.
//
// The shell around Store: it owns the connections, wakes those whose wait has ended, closes those
// that misbehave or never begin, with one line in the log, and empties everything between rounds.
// One thread runs all of it: the one of the executor. Listening and telling protocols apart are
// the caller's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rendezvous/log_gate.hpp"
#include "rendezvous/store_connection.hpp"
#include "rendezvous/store_limits.hpp"
#include "rendezvous/store_session.hpp"

namespace ddprun {

class StoreServer final : private StoreConnection::Owner {
  using Owner = StoreConnection::Owner;

 public:
  explicit StoreServer(const boost::asio::any_io_executor& executor, StoreLimits limits = {});
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  ~StoreServer();

  /// Serves `socket` from now on. `already_read` are the bytes the caller took from it.
  void adopt(boost::asio::ip::tcp::socket socket, std::string_view already_read);

  /// Closes all connections and forgets all keys: nothing of a round is seen in the next. With the
  /// number of ranks, repeated init_process_group() calls of a process get separate keys.
  void begin_round(std::size_t world_size = 0);

  std::size_t connections() const { return connections_.size(); }
  void close();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Newcomer {  // has not sent a complete VALIDATE
    ClientId id;
    TimePoint deadline;
  };

  void served(StoreConnection& connection) override;
  void failed(StoreConnection& connection, const Error& reason) override;
  void gone(StoreConnection& connection) override;

  void expect_validate(ClientId id);
  void drop_silent_newcomers();
  void watch_newcomers();
  void close_connection(ClientId id);
  void log_refusal(const StoreConnection& connection, std::string_view reason);

  StoreState state_;
  boost::asio::steady_timer timer_;
  std::unordered_map<ClientId, std::shared_ptr<StoreConnection>> connections_;
  std::deque<Newcomer> newcomers_;  // in the order of their deadlines; some have validated since
  ClientId last_id_ = 0;
  bool timer_runs_ = false;
  LogGate log_gate_;
  std::shared_ptr<const bool> alive_ =
      std::make_shared<const bool>(true);  // for the timer's handler
};

}  // namespace ddprun
