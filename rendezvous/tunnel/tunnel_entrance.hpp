// TunnelEntrance: the agent's end of the tunnel (--store local). It listens on loopback for the
// workers of this node and hands their bytes on to the coordinator's store, and back, in frames of
// the agent's one connection. What the bytes mean it does not know.
//
// As the store does, it works in turns: all sockets that have become ready are read into one write.
// They are read only when the connection has room for it, so that nothing piles up here; what comes
// for a worker that does not read is limited by its window, and for all of them by
// kTunnelUnreadBytesMax.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/log_gate.hpp"
#include "rendezvous/tunnel/tunnel_outbox.hpp"
#include "rendezvous/tunnel/tunnel_window.hpp"
#include "rendezvous/wire/channel.hpp"
#include "rendezvous/wire/edge_poll.hpp"
#include "rendezvous/wire/edge_socket.hpp"

namespace ddprun {

/// That workers of this node may leave unread; beyond it whoever has more coming is closed.
inline constexpr std::size_t kTunnelUnreadBytesMax = std::size_t{64} << 20;

class TunnelEntrance : public TunnelEnd, public std::enable_shared_from_this<TunnelEntrance> {
 public:
  /// For as long as the connection to `coordinator` lasts.
  TunnelEntrance(const asio::any_io_executor& executor, std::shared_ptr<Channel> coordinator);
  ~TunnelEntrance() override;

  /// Listens for the workers of `round`, at a free port, which is returned. Those of an earlier
  /// round are cut off. Errors: kUnavailable.
  Result<std::uint16_t> open(int round);

  /// Nobody is let in or served any more, until open() is called again.
  void close();

  std::size_t clients() const { return clients_.size(); }

  Result<void> receive(const TunnelFrame& frame) override;
  void received_all() override {}
  void fill(std::string& out, std::size_t bytes_max) override;

 private:
  struct Client {
    explicit Client(int descriptor) : socket{descriptor} {}
    bool can_send() const { return socket.readable() && window.room() > 0 && !finished; }

    EdgeSocket socket;
    TunnelWindow window;
    std::string unread;     // by the worker
    bool waits = false;     // for its turn to send
    bool finished = false;  // the coordinator has closed it; what is unread still goes out
  };
  using Door = std::shared_ptr<asio::ip::tcp::acceptor>;

  asio::awaitable<void> let_in_all(Door door, std::uint32_t round);
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
  void log_closed(std::string_view why);
  Client* find(TunnelClientId number) const;

  asio::any_io_executor executor_;
  const std::shared_ptr<Channel> coordinator_;
  EdgePoll poll_;
  Door door_;
  boost::unordered_flat_map<TunnelClientId, std::unique_ptr<Client>> clients_;
  TunnelOutbox outbox_;
  TunnelClientId last_number_ = 0;
  std::size_t unread_bytes_ = 0;
  bool polling_ = false;
  LogGate log_gate_;
};

}  // namespace ddprun
