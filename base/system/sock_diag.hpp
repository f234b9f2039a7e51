// Questions to the kernel about TCP sockets, also those of other processes: NETLINK_SOCK_DIAG, as
// ss(8) asks. See sock_diag(7).
#pragma once

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include <cstdint>

#include "base/descriptor.hpp"

namespace ddprun {

struct SocketQuestion {
  nlmsghdr header{};
  inet_diag_req_v2 socket{};
};

/// Returns a question about sockets of that family, AF_INET or AF_INET6. The answer has the same
/// number.
SocketQuestion tcp_question(std::uint8_t family, std::uint32_t number);

/// Opens the way to the kernel; not open, with errno, where it refuses.
Descriptor open_sock_diag();

}  // namespace ddprun
