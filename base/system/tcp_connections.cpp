#include "base/system/tcp_connections.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/clock.hpp"
#include "base/system/sock_diag.hpp"

namespace ddprun {

namespace {

constexpr std::chrono::milliseconds kListedWithin{100};
/// The kernel fills parts of at most this size.
constexpr std::size_t kPartBytes = 32 * 1024;
/// Sockets that send, or may have to send again. What listens, or is over, says nothing.
constexpr std::uint32_t kStates = 1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT | 1U << TCP_FIN_WAIT1 |
                                  1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK | 1U << TCP_CLOSING;

/// Where the kernel has these in its record, which goes on behind the C library's tcp_info: see
/// tcp_info in linux/tcp.h, which cannot be included beside that. Microseconds in 64 bits.
constexpr std::size_t kBusyTimeAt = 168;
constexpr std::size_t kReceiverLimitedAt = 176;

template <typename Header>
bool take_header(std::string_view bytes, Header& header) {
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return true;
}

/// 127.0.0.0/8, also as ::ffff:127.0.0.1, and ::1; or both ends have the same address.
bool is_loopback(const inet_diag_msg& socket) {
  if (std::memcmp(socket.id.idiag_src, socket.id.idiag_dst, sizeof socket.id.idiag_dst) == 0)
    return true;
  unsigned char address[16];
  std::memcpy(address, socket.id.idiag_dst, sizeof address);
  if (socket.idiag_family == AF_INET) return address[0] == 127;
  static constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  static constexpr unsigned char kOwn[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (std::memcmp(address, kMapped, sizeof kMapped) == 0) return address[12] == 127;
  return std::memcmp(address, kOwn, sizeof kOwn) == 0;
}

/// The kernel's record of a connection, of which an older kernel has less; "": there is none.
std::string_view record_among(std::string_view attributes) {
  std::string_view record;
  for (nlattr attribute{}; take_header(attributes, attribute);) {
    if (attribute.nla_len < NLA_HDRLEN) break;
    if (attribute.nla_type == INET_DIAG_INFO)
      record = attributes.substr(0, attribute.nla_len).substr(NLA_HDRLEN);
    attributes.remove_prefix(
        std::min<std::size_t>(NLA_ALIGN(attribute.nla_len), attributes.size()));
  }
  return record;
}

std::optional<std::chrono::microseconds> sending_in(std::string_view record) {
  std::uint64_t busy = 0, limited = 0;
  if (record.size() < kReceiverLimitedAt + sizeof limited) return std::nullopt;
  std::memcpy(&busy, record.data() + kBusyTimeAt, sizeof busy);
  std::memcpy(&limited, record.data() + kReceiverLimitedAt, sizeof limited);
  return std::chrono::microseconds{busy - std::min(busy, limited)};
}

void list(std::uint8_t family, std::uint32_t number, TimePoint deadline,
          std::vector<TcpConnection>& found) {
  const Descriptor netlink = open_sock_diag();
  SocketQuestion question = tcp_question(family, number);
  question.header.nlmsg_flags |= NLM_F_DUMP;
  question.socket.idiag_states = kStates;
  question.socket.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  if (::send(netlink.number(), &question, sizeof question, MSG_DONTWAIT) < 0) return;
  std::vector<char> part(kPartBytes);
  while (Clock::now() < deadline && found.size() < kTcpConnectionsMax) {
    const ssize_t size = ::recv(netlink.number(), part.data(), part.size(), MSG_DONTWAIT);
    if (size <= 0) return;
    if (!read_tcp_connections({part.data(), static_cast<std::size_t>(size)}, number, found)) return;
  }
}

}  // namespace

bool read_tcp_connections(std::string_view part, std::uint32_t number,
                          std::vector<TcpConnection>& found) {
  for (nlmsghdr header{}; take_header(part, header);) {
    if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > part.size()) return false;
    if (header.nlmsg_seq != number || header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;
    const std::string_view payload = part.substr(0, header.nlmsg_len).substr(NLMSG_HDRLEN);
    inet_diag_msg socket{};
    if (!take_header(payload, socket)) return false;
    // The attributes behind it are aligned as it is.
    static_assert(sizeof socket == NLMSG_ALIGN(sizeof socket));
    const std::string_view record = record_among(payload.substr(sizeof socket));
    tcp_info info{};
    record.copy(reinterpret_cast<char*>(&info), sizeof info);
    found.push_back({.inode = socket.idiag_inode,
                     .retransmits = info.tcpi_total_retrans,
                     .round_trip = std::chrono::microseconds{info.tcpi_rtt},
                     .silent = std::chrono::milliseconds{info.tcpi_last_data_sent},
                     .sending = sending_in(record),
                     .loopback = is_loopback(socket)});
    part.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), part.size()));
  }
  return true;
}

std::vector<TcpConnection> tcp_connections() {
  std::vector<TcpConnection> found;
  const TimePoint deadline = Clock::now() + kListedWithin;
  list(AF_INET, 1, deadline, found);
  list(AF_INET6, 2, deadline, found);
  if (found.size() > kTcpConnectionsMax) found.resize(kTcpConnectionsMax);
  std::ranges::sort(found, {}, &TcpConnection::inode);
  return found;
}

}  // namespace ddprun
