// The TCP connections of this machine, as far as this process's network namespace shows them, with
// what the kernel tells of their network.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddprun {

struct TcpConnection {
  std::uint32_t inode = 0;                  // the socket's: "socket:[12345]" of /proc/PID/fd
  std::int64_t retransmits = 0;             // segments that were sent again, since it began
  std::chrono::microseconds round_trip{0};  // smoothed
  std::chrono::milliseconds silent{0};      // since it has sent data last
  /// Since it began, how long what it had sent was in flight, and the other end had room for more;
  /// nullopt: the kernel does not tell, as before 4.10.
  std::optional<std::chrono::microseconds> sending;
  bool loopback = false;  // its other end is on this machine, by the addresses
};

inline constexpr std::size_t kTcpConnectionsMax = 65'536;

/// All of them, by ascending inode; none where the kernel does not tell. It is asked once for all
/// processes, and answers within the calls. Not more than kTcpConnectionsMax, and not more than a
/// tenth of a second can list.
std::vector<TcpConnection> tcp_connections();

/// Adds the connections in a part of the kernel's answer to question `number`. Returns whether more
/// parts follow. Pure.
bool read_tcp_connections(std::string_view part, std::uint32_t number,
                          std::vector<TcpConnection>& found);

}  // namespace ddprun
