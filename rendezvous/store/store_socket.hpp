// StoreSocket: a store client with a socket of its own. In the common case a request costs one recv
// and one send.
#pragma once

#include "rendezvous/store/store_connection.hpp"
#include "rendezvous/transport/edge_poll.hpp"

namespace ddprun {

class StoreSocket : public StoreConnection {
 public:
  /// Takes over `socket`, a connected one that the caller adds to `poll`. The destructor takes it
  /// out of `poll` and closes it.
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
