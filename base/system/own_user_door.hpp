// OwnUserDoor admits connections from processes of this process's own user, or of root.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>

#include "base/gated_log.hpp"
#include "base/system/peer_users.hpp"

namespace ddprun {

class OwnUserDoor {
 public:
  /// Whether `connection` may be served. One of another user is logged, at most once a second. If
  /// the kernel does not say whose it is, every connection is served, and a warning says so once.
  bool lets_in(const asio::ip::tcp::socket& connection);

 private:
  PeerUsers users_;
  GatedLog refused_{log::Level::kWarning};
};

}  // namespace ddprun
