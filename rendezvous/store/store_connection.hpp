// StoreConnection: the connection of one store client, with its session.
//
// It never waits: StoreServer lets it read() and then flush(), and closes it when it is gone(). One
// kind has a socket of its own (store_socket.hpp), the other comes through an agent
// (tunnel_exit.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rendezvous/store/store_session.hpp"

namespace ddprun {

class StoreConnection {
 public:
  StoreConnection(ClientId id, std::string address, StoreState& state)
      : session_{id, std::move(address), state} {}
  StoreConnection(const StoreConnection&) = delete;
  StoreConnection& operator=(const StoreConnection&) = delete;
  virtual ~StoreConnection() { session_.leave(); }

  /// Notes what epoll has reported of its socket (epoll_event::events, epoll_ctl(2)).
  virtual void notice(std::uint32_t /*events*/) {}

  /// Reads and serves what has come, at most one buffer full. `scratch` holds it meanwhile. An
  /// error means that the client misbehaved.
  virtual Result<void> read(std::span<char> scratch) = 0;

  /// Serves bytes that somebody else has read. Errors: as for read().
  virtual Result<void> received(std::string_view bytes) { return session_.received(bytes); }

  /// Sends as much of the replies as can be sent now.
  virtual void flush() = 0;

  /// Whether the peer has closed or broken off the connection.
  virtual bool gone() const = 0;

  /// Whether there is more to read or to send that epoll will not tell of again.
  virtual bool unfinished() const = 0;

  StoreSession& session() { return session_; }
  const StoreSession& session() const { return session_; }

  // StoreServer's marks.
  bool queued = false;   // it has a turn coming
  bool touched = false;  // its replies have not been flushed since it was served

 private:
  StoreSession session_;
};

}  // namespace ddprun
