// StoreConnection: the socket of one store client, and its session.
//
// It never waits: StoreServer tells it what the socket is ready for, lets it read() and then
// flush(), and closes it when gone(). In the common case that is one recv and one send for a
// request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rendezvous/store_session.hpp"

namespace ddprun {

class StoreConnection {
 public:
  /// `socket` is the connection's to close.
  StoreConnection(int socket, std::string address, ClientId id, StoreState& state);
  StoreConnection(const StoreConnection&) = delete;
  StoreConnection& operator=(const StoreConnection&) = delete;
  ~StoreConnection();

  /// What epoll has told of the socket.
  void notice(std::uint32_t events);

  /// Serves what there is to be read, up to one buffer full. `scratch` is a place for it while it
  /// is looked at. An error means that the client misbehaved.
  Result<void> read(std::span<char> scratch);
  Result<void> received(std::string_view bytes) { return session_.received(bytes); }

  /// Sends what the socket takes of the replies.
  void flush();

  /// The peer has closed the connection, or broke it off.
  bool gone() const { return gone_; }

  /// There is more to read or to send, of which epoll will not tell again.
  bool unfinished() const;

  StoreSession& session() { return session_; }
  const StoreSession& session() const { return session_; }
  int socket() const { return socket_; }

  bool queued = false;   // StoreServer's marks: it has a turn coming,
  bool touched = false;  // and what it has to say has not been sent yet

 private:
  const int socket_;
  StoreSession session_;
  bool readable_ = false;
  bool writable_ = true;
  bool hung_up_ = false;  // the peer sends no more, but what it sent may not have been read
  bool gone_ = false;
};

}  // namespace ddprun
