// StoreSocket: a store client that has connected to us. In the common case that is one recv and one
// send for a request.
#pragma once

#include "rendezvous/store/store_connection.hpp"
#include "rendezvous/wire/edge_poll.hpp"
#include "rendezvous/wire/edge_socket.hpp"

namespace ddprun {

class StoreSocket : public StoreConnection {
 public:
  /// `socket` is the connection's to close; it leaves `poll` before.
  StoreSocket(int socket, EdgePoll& poll, ClientId id, std::string address, StoreState& state);
  ~StoreSocket() override;

  void notice(std::uint32_t events) override { socket_.notice(events); }
  Result<void> read(std::span<char> scratch) override;
  void flush() override;
  bool gone() const override { return socket_.gone(); }
  bool unfinished() const override;

 private:
  EdgeSocket socket_;
  EdgePoll& poll_;
};

}  // namespace ddprun
