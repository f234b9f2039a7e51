// Which user of this machine is at the other end of a connection, and whether to let it in.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>

#include "base/asio.hpp"
#include "base/descriptor.hpp"
#include "base/gated_log.hpp"
#include "base/result.hpp"

namespace ddprun {

/// PeerUsers tells which user of this machine holds the other end of a connection.
///
/// TCP on loopback has no owner that the other side could see, but the kernel knows both ends. It
/// is asked for the peer's socket over NETLINK_SOCK_DIAG, as ss(8) does (sock_diag(7)). The kernel
/// answers within the call that asks, so the caller does not wait.
class PeerUsers {
 public:
  /// Returns the id of the user who has made the socket at the other end of `connection`. Errors:
  /// kNotFound when no process here holds such a socket, because it has been closed, or belongs to
  /// another machine or network namespace; kUnavailable when the kernel does not tell, as in some
  /// sandboxes.
  Result<uid_t> user_of(const asio::ip::tcp::socket& connection);

 private:
  Descriptor netlink_;  // opened with the first question, and kept
  std::uint32_t questions_ = 0;
};

/// OwnUserFilter admits connections from processes of this process's own user, or of root.
class OwnUserFilter {
 public:
  /// Whether `connection` may be served. One of another user is logged, at most once a second. If
  /// the kernel does not say whose it is, every connection is served, and a warning says so once.
  bool lets_in(const asio::ip::tcp::socket& connection);

 private:
  PeerUsers users_;
  GatedLog refused_{log::Level::kWarning};
};

}  // namespace ddprun
