// PartServer: gives other nodes the parts of checkpoints that this node has in memory. A thread of
// its own does, so that gigabytes hold nobody up.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/checkpoints/part_request.hpp"
#include "agent/checkpoints/snapshot.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "base/system/loop_thread.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

/// At most this many nodes are served at once; others hear that their connection ends.
inline constexpr int kPartClientsMax = 64;

class PartServer {
 public:
  /// A part, and the folder with its files.
  struct Offer {
    Snapshot part;
    std::filesystem::path files;
  };

  /// Listens at any free port of all addresses. With `tls`, only who proves its key is served.
  /// Exceptions of the thread are thrown on in `home`. Errors: kUnavailable.
  static Result<std::unique_ptr<PartServer>> start(const asio::any_io_executor& home,
                                                   std::shared_ptr<const TlsContext> tls);
  ~PartServer();
  PartServer(const PartServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// A client has to show it. Each server has a fresh one.
  const std::string& ticket() const { return ticket_; }

  /// From now on these are given, and no others.
  void offer(std::vector<Offer> parts);

 private:
  class Sender;
  class Place;
  PartServer(const asio::any_io_executor& home, std::shared_ptr<const TlsContext> tls);

  void serve_one(asio::ip::tcp::socket socket);
  asio::awaitable<void> serve(asio::ip::tcp::socket socket);
  asio::awaitable<PartAnswer> answer(Sender& sender, const PartRequest& request);
  Result<std::shared_ptr<const Offer>> find(const PartRequest& request) const;

  const std::shared_ptr<const TlsContext> tls_;
  const std::string ticket_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Offer>> offers_;  // both threads use it
  int clients_ = 0;
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_{io_};
  LoopThread thread_;
};

}  // namespace ddprun
