// StoreConnection: the way to one store client, and its session.
//
// It never waits: StoreServer lets it read() and then flush(), and closes it when gone(). One kind
// has a socket of its own (store_socket.hpp), the other comes through an agent (tunnel_exit.hpp).
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

  /// What epoll has told of its socket.
  virtual void notice(std::uint32_t /*events*/) {}

  /// Serves what there is to be read, up to one buffer full. `scratch` is a place for it while it
  /// is looked at. An error means that the client misbehaved.
  virtual Result<void> read(std::span<char> scratch) = 0;
  virtual Result<void> received(std::string_view bytes) { return session_.received(bytes); }

  /// Sends what can be sent now of the replies.
  virtual void flush() = 0;

  /// The peer has closed the connection, or broke it off.
  virtual bool gone() const = 0;

  /// There is more to read or to send, of which nobody will tell again.
  virtual bool unfinished() const = 0;

  StoreSession& session() { return session_; }
  const StoreSession& session() const { return session_; }

  bool queued = false;   // StoreServer's marks: it has a turn coming,
  bool touched = false;  // and what it has to say has not been sent yet

 private:
  StoreSession session_;
};

}  // namespace ddprun
