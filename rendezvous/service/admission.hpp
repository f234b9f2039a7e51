// What a server does with peers that have not joined a job yet.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/gated_log.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/transport/channel.hpp"
#include "rendezvous/transport/handshake_pool.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

/// Newcomers: the peers of a coordinator that have not joined a job yet. Each has some time for it;
/// when there are too many of them, the one that came first has to go.
class Newcomers {
 public:
  Newcomers(std::chrono::milliseconds time, std::size_t places)
      : time_{time}, places_{places}, all_{std::make_shared<OldestFirst>()} {}

  /// One newcomer's place, which it has as long as this lives, though go() may ask it to leave.
  class Place {
   public:
    Place(const Newcomers& newcomers, const asio::any_io_executor& executor);
    ~Place() { all_->erase(at_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Resolves when the newcomer has to go: its time is over, or there are too many.
    asio::awaitable<void> has_to_go();

   private:
    friend class Newcomers;
    asio::steady_timer time_;
    std::shared_ptr<std::list<Place*>> all_;
    std::list<Place*>::iterator at_;
  };

  /// How many there are.
  std::size_t size() const { return all_->size(); }

  /// Tells all of them to go.
  void clear();

 private:
  using OldestFirst = std::list<Place*>;

  std::chrono::milliseconds time_;
  std::size_t places_;
  std::shared_ptr<OldestFirst> all_;  // places may outlive the server, in their coroutines
};

/// Admission decides how a server goes on with a peer, by the first byte that it sends.
///
/// Without a secret agents and store clients are let in as they are. With one, only TLS is: a peer
/// with another protocol is refused, with a reason if its protocol has words for one. A refused
/// peer is logged, but not more often than a GatedLog writes it.
class Admission {
 public:
  /// From now on only who proves a key of `tls` is let in. When many come at once,
  /// `handshake_threads` threads help the event loop.
  void lock(std::shared_ptr<const TlsContext> tls, int handshake_threads);

  /// Whether the peer whose first byte, not yet read, is `first` may go on. If not, it gets an
  /// answer of its protocol; the caller closes the socket.
  bool admits(asio::ip::tcp::socket& socket, char first);

  /// Whether the peer that began with `first`, and was admitted, is an agent; else it is a client
  /// of the store, or a stranger.
  bool is_agent(char first) const;

  /// Makes the connection of an agent, of which nothing was read yet.
  std::shared_ptr<Channel> open(asio::ip::tcp::socket socket) const;

  /// The threads that compute a handshake while that many peers have not joined yet; nullptr: the
  /// event loop is as fast by itself.
  HandshakePool* pool_for(std::size_t newcomers) const;

  /// Whether the agent at the other end of `channel` may join so: only the job whose key it has
  /// proven, and with its store inside the connection. Errors: kDenied, with a sentence for it.
  Result<void> may_join(const Channel& channel, const Join& join) const;

  /// Whether the other end has proven the key of that job, where a key is needed. Errors: kDenied,
  /// with a sentence for it.
  Result<void> may_speak_of(const Channel& channel, const std::string& run_id) const;

  /// Logs that an agent's connection has failed before it has joined.
  void failed(const Channel& channel, const Error& error);

 private:
  std::shared_ptr<const TlsContext> tls_;  // nullptr: there is no secret
  std::unique_ptr<HandshakePool> pool_;    // nullptr: the event loop does all handshakes
  GatedLog turned_away_{log::Level::kWarning};
  GatedLog strangers_{log::Level::kInfo};
};

}  // namespace ddprun
