// TunnelExit: the coordinator's end of an agent's tunnel (--store local). The node's workers are
// clients of the store like any other, but their bytes come and go in frames on the agent's
// connection. docs/internals/tunnel.md has the rules.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "rendezvous/store/store_connection.hpp"
#include "rendezvous/store/store_server.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/tunnel/tunnel_flow.hpp"

namespace ddprun {

class TunnelExit : public TunnelEnd {
 public:
  /// Serves the tunnel on `agent` from `store`, which lives longer. `is_current` says whether the
  /// workers of a round may be let in.
  TunnelExit(std::shared_ptr<Channel> agent, StoreServer& store,
             std::function<bool(std::uint32_t round)> is_current);
  /// The node's clients of the store end with the tunnel.
  ~TunnelExit() override;

  Result<void> receive(const TunnelFrame& frame) override;
  void received_all() override { store_.flush(); }
  void fill(std::string& out, std::size_t bytes_max) override;

 private:
  class Client : public StoreConnection {
   public:
    Client(TunnelExit& tunnel, TunnelClientId number, ClientId id, StoreState& state);
    ~Client() override { tunnel_.forget(number_); }

    Result<void> read(std::span<char> scratch) override;
    Result<void> received(std::string_view bytes) override;
    void flush() override;
    bool gone() const override { return false; }  // its TunnelClose closes it at once
    bool unfinished() const override { return session().paused() && !session().must_drain(); }

    /// Notes that that many bytes have come. Errors: kInvalid when there was no credit for them.
    Result<void> expects(std::size_t bytes) { return window_.received(bytes); }
    /// This many more bytes may be sent to it. Errors: kInvalid when fewer were unacknowledged.
    Result<void> granted(std::size_t bytes);

    /// Appends its next bytes to `out`, as a frame. Returns whether it has more to send.
    bool take_turn(std::size_t bytes_max, std::string& out);

   private:
    bool can_send() const { return window_.credit() > 0 && !session().output().empty(); }
    void release_held();

    TunnelExit& tunnel_;
    const TunnelClientId number_;
    TunnelWindow window_;
    std::size_t held_ = 0;  // bytes that have come and that no credit was counted for
    bool waits_ = false;    // it has a turn to send coming
  };

  Result<void> open(const TunnelOpen& frame);
  Client* find(TunnelClientId number) const;
  void forget(TunnelClientId number);
  void say(const TunnelFrame& frame);

  const std::shared_ptr<Channel> agent_;
  StoreServer& store_;
  const std::function<bool(std::uint32_t)> is_current_;
  boost::unordered_flat_map<TunnelClientId, Client*> clients_;
  TunnelOutbox outbox_;
};

}  // namespace ddprun
