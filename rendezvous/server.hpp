// The coordinator's shell: accepts peers on one port, tells agents from store clients, reads the
// clock for RoundMachine and performs its actions.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

#include "rendezvous/channel.hpp"
#include "rendezvous/round_machine.hpp"
#include "rendezvous/store_server.hpp"

namespace ddprun {

class Server {
 public:
  /// Listens on `address`:`port` (0: any free one, see port()). `rules.master_port` 0 becomes the
  /// port that was bound. Errors: kUnavailable, naming the address.
  static Result<std::unique_ptr<Server>> listen(const asio::any_io_executor& executor,
                                                RoundRules rules, const asio::ip::address& address,
                                                std::uint16_t port);
  /// Starts to accept; runs until close().
  void start();
  void close();

  bool closed() const { return !acceptor_.is_open(); }
  std::uint16_t port() const { return port_; }

 private:
  Server(asio::ip::tcp::acceptor acceptor, RoundRules rules);

  asio::awaitable<void> accept_loop();
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  bool is_of_a_node(const asio::ip::tcp::socket& socket) const;
  asio::awaitable<void> serve_agent(std::shared_ptr<Channel> channel);
  asio::awaitable<void> tick_when_due();
  void step(const RoundEvent& event);
  void perform(const RoundAction& action);

  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  RoundMachine machine_;
  StoreServer store_;
  std::map<NodeId, std::shared_ptr<Channel>> agents_;
  asio::steady_timer tick_;
};

}  // namespace ddprun
