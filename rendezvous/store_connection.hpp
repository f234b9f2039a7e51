// StoreConnection: the socket of one store client, and its session.
//
// It reads, lets the session answer, and writes: in the common case one recv and one send for a
// request. Who else must be woken, and what is logged, is the server's (StoreServer).
// Handlers keep the connection alive; once it is closed they do nothing.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string_view>

#include "rendezvous/store_session.hpp"

namespace ddprun {

class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  /// What a connection needs of its server; nothing here is called after close().
  struct Owner {
    virtual void served(StoreConnection& connection) = 0;  // requests have been performed
    virtual void failed(StoreConnection& connection, const Error& reason) = 0;  // misbehaved
    virtual void gone(StoreConnection& connection) = 0;  // the peer has closed, or broke off

   protected:
    ~Owner() = default;
  };

  StoreConnection(boost::asio::ip::tcp::socket socket, std::string address, ClientId id,
                  StoreState& state, Owner& owner);

  void start(std::string_view already_read);

  /// Somebody else has written what this client may have waited for.
  void wake();

  /// Idempotent.
  void close();

  const StoreSession& session() const { return session_; }

 private:
  void read();
  void after(const Result<void>& served);
  void flush();
  void flush_when_writable();
  void go_on_later();

  boost::asio::ip::tcp::socket socket_;
  StoreSession session_;
  Owner& owner_;
  bool closed_ = false;
  bool reading_ = false;
  bool writing_ = false;
};

}  // namespace ddprun
