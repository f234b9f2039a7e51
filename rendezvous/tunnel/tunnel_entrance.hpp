// TunnelEntrance: the agent's end of a tunnel (--store local). It listens on loopback for the
// workers of this node, and passes their bytes to the coordinator's store and back, in frames on
// the agent's one connection. It does not know what the bytes mean.
//
// Like the store it works in turns: what all ready sockets have to say goes into one write. Sockets
// are read only when the connection can take more, so that no requests pile up here. Replies to a
// worker that does not read are limited by its window, and those to all workers by
// TunnelLimits::unread_bytes_max. docs/internals/tunnel.md has the rules.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/gated_log.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/transport/edge_poll.hpp"
#include "rendezvous/tunnel/tunnel_flow.hpp"

namespace ddprun {

/// Limits how much of the agent's memory and descriptors the workers of its node may take.
struct TunnelLimits {
  std::size_t clients_max = kTunnelClientsMax;  // further connections are closed
  /// All workers together may leave at most this many bytes of replies unread. A worker that has
  /// more coming beyond it is closed.
  std::size_t unread_bytes_max = std::size_t{64} << 20;
};

class TunnelEntrance : public TunnelEnd, public std::enable_shared_from_this<TunnelEntrance> {
 public:
  /// Carries the tunnel on `coordinator` from now on. When that connection ends, the caller drops
  /// the entrance with it.
  TunnelEntrance(const asio::any_io_executor& executor, std::shared_ptr<Channel> coordinator,
                 TunnelLimits limits = {});
  ~TunnelEntrance() override;

  /// Listens on loopback for the workers of `round`, and returns the port: that one, or for 0 a
  /// free one. Workers of an earlier round are cut off. Errors: kUnavailable.
  Result<std::uint16_t> open(int round, std::uint16_t at = 0);

  /// Stops to listen and cuts off all workers, until open() is called again.
  void close();

  /// How many workers' connections are served.
  std::size_t clients() const { return clients_.size(); }

  Result<void> receive(const TunnelFrame& frame) override;
  void received_all() override {}
  void fill(std::string& out, std::size_t bytes_max) override;

 private:
  struct Client {
    explicit Client(int descriptor) : socket{descriptor} {}
    bool can_send() const { return socket.readable() && window.credit() > 0 && !finished; }

    EdgeSocket socket;
    TunnelWindow window;
    std::string unread;     // replies that the worker's socket has not taken
    bool waits = false;     // it has a turn to send coming
    bool finished = false;  // the coordinator has closed it; what is unread is still delivered
  };
  using Acceptor = std::shared_ptr<asio::ip::tcp::acceptor>;

  asio::awaitable<void> let_in_all(Acceptor acceptor, std::uint32_t round);
  void let_in(asio::ip::tcp::socket socket, std::uint32_t round);
  void take_turn();
  void expect_turn();
  bool take_bytes(TunnelClientId number, std::size_t bytes_max, std::string& out);
  Result<void> deliver(TunnelClientId number, std::string_view bytes);
  void deliver_unread(TunnelClientId number, Client& client);
  void dealt_with(TunnelClientId number, Client& client, std::size_t bytes);
  void wait_for_turn(TunnelClientId number, Client& client);
  void coordinator_closed(TunnelClientId number);
  void drop(TunnelClientId number);
  Client* find(TunnelClientId number) const;

  asio::any_io_executor executor_;
  const std::shared_ptr<Channel> coordinator_;
  const TunnelLimits limits_;
  EdgePoll poll_;
  Acceptor acceptor_;
  boost::unordered_flat_map<TunnelClientId, std::unique_ptr<Client>> clients_;
  TunnelOutbox outbox_;
  TunnelClientId last_number_ = 0;
  std::size_t unread_bytes_ = 0;  // all clients together
  bool polling_ = false;          // a wait for the poll is pending
  GatedLog closed_{log::Level::kWarning};
};

}  // namespace ddprun
