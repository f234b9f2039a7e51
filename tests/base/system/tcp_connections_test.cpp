#include "base/system/tcp_connections.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>
#include <string>

#include "base/asio.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr std::uint32_t kNumber = 7;

template <typename Record>
std::string bytes_of(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

/// A record of the kernel's about one connection.
std::string record_of(std::uint32_t inode, const char* far, std::uint16_t type,
                      std::size_t info_bytes = 184) {
  inet_diag_msg socket{};
  const auto address = asio::ip::make_address(far);
  socket.idiag_family = address.is_v4() ? AF_INET : AF_INET6;
  socket.idiag_inode = inode;
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    const auto own = asio::ip::make_address("10.9.9.9").to_v4().to_bytes();
    std::memcpy(socket.id.idiag_src, own.data(), own.size());
    std::memcpy(socket.id.idiag_dst, bytes.data(), bytes.size());
  } else {
    const auto bytes = address.to_v6().to_bytes();
    std::memcpy(socket.id.idiag_dst, bytes.data(), bytes.size());
  }
  tcp_info info{};
  info.tcpi_rtt = 1500;
  info.tcpi_last_data_sent = 40;
  info.tcpi_total_retrans = 12;
  std::string record = bytes_of(info);
  record.resize(168);
  record += bytes_of(std::uint64_t{900}) + bytes_of(std::uint64_t{200});  // limited by the receiver
  const nlattr other{NLA_HDRLEN + 1, INET_DIAG_SHUTDOWN};  // one byte, and three to align it
  const nlattr attribute{static_cast<std::uint16_t>(NLA_HDRLEN + info_bytes), INET_DIAG_INFO};
  std::string payload = bytes_of(socket) + bytes_of(other) + std::string(4, '\1') +
                        bytes_of(attribute) + record.substr(0, info_bytes);
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
  header.nlmsg_type = type;
  header.nlmsg_seq = kNumber;
  return bytes_of(header) + payload;
}

std::string record_of(std::uint32_t inode, const char* far) {
  return record_of(inode, far, SOCK_DIAG_BY_FAMILY);
}

bool is_found(const tcp::socket& socket, bool loopback) {
  struct stat what {};
  REQUIRE(fstat(const_cast<tcp::socket&>(socket).native_handle(), &what) == 0);
  return std::ranges::any_of(tcp_connections(), [&](const TcpConnection& one) {
    return one.inode == what.st_ino && one.loopback == loopback;
  });
}

TEST_CASE("a part of the kernel's list has several connections") {
  std::vector<TcpConnection> found;
  CHECK(read_tcp_connections(record_of(1, "10.0.0.1") + record_of(2, "127.0.1.1") +
                                 record_of(3, "::1") + record_of(4, "::ffff:127.0.0.1") +
                                 record_of(5, "::ffff:10.0.0.1") + record_of(6, "fe80::1") +
                                 record_of(7, "10.9.9.9"),
                             kNumber, found));
  REQUIRE(found.size() == 7);
  const bool loopback[] = {false, true, true, true, false, false, true};
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("connection " << i + 1);
    CHECK(found[i].inode == i + 1);
    CHECK(found[i].round_trip == 1500us);
    CHECK(found[i].retransmits == 12);
    CHECK(found[i].silent == 40ms);
    CHECK(found[i].sending == 700us);
    CHECK(found[i].loopback == loopback[i]);
  }
}

TEST_CASE("the list ends with what is no connection") {
  std::vector<TcpConnection> found;
  const std::string one = record_of(1, "10.0.0.1");
  for (const std::uint16_t type : {std::uint16_t{NLMSG_DONE}, std::uint16_t{NLMSG_ERROR}})
    CHECK_FALSE(read_tcp_connections(record_of(2, "10.0.0.1", type) + one, kNumber, found));
  CHECK_FALSE(read_tcp_connections(one, kNumber + 1, found));
  CHECK(found.empty());
  CHECK(read_tcp_connections("", kNumber, found));
}

TEST_CASE("an older kernel tells less of a connection") {
  std::vector<TcpConnection> found;
  CHECK(read_tcp_connections(record_of(1, "10.0.0.1", SOCK_DIAG_BY_FAMILY, 72), kNumber, found));
  REQUIRE(found.size() == 1);
  CHECK(found[0].round_trip == 1500us);
  CHECK(found[0].retransmits == 0);
  CHECK_FALSE(found[0].sending);
}

TEST_CASE("of a list that is cut anywhere, or has wrong lengths, nothing is read behind its end") {
  const std::string whole = record_of(1, "10.0.0.1");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut{whole, 0, size};  // no longer than that: a sanitizer sees its end
    std::vector<TcpConnection> found;
    (void)read_tcp_connections(cut, kNumber, found);
    CHECK(found.empty());
  }
  for (std::uint32_t size = 0; size < NLMSG_HDRLEN + sizeof(inet_diag_msg); ++size) {
    std::string small = whole;
    std::memcpy(small.data(), &size, sizeof size);  // the field at the beginning
    std::vector<TcpConnection> found;
    CHECK_FALSE(read_tcp_connections(small, kNumber, found));
    CHECK(found.empty());
  }
  for (std::size_t place = 0; place < whole.size(); ++place)
    for (const char byte : {'\0', '\1', '\xff'}) {
      std::string wrong = whole;
      wrong[place] = byte;
      std::vector<TcpConnection> found;
      (void)read_tcp_connections(wrong, kNumber, found);
      CHECK(found.size() <= 1);
    }
}

TEST_CASE("connections of this machine are listed, over IPv4 and IPv6") {
  asio::io_context io{1};
  for (const asio::ip::address& here : {asio::ip::address{asio::ip::address_v4::loopback()},
                                        asio::ip::address{asio::ip::address_v6::loopback()}}) {
    INFO(here.to_string());
    tcp::acceptor acceptor{io};
    boost::system::error_code refused;
    const tcp::endpoint at{here, 0};
    acceptor.open(at.protocol(), refused);
    if (!refused) acceptor.bind(at, refused);
    if (refused) {
      WARN("there is no " << here.to_string());
      continue;
    }
    acceptor.listen();
    tcp::socket client{io};
    client.connect(acceptor.local_endpoint());
    const tcp::socket server = acceptor.accept();
    CHECK(is_found(client, true));
    CHECK(is_found(server, true));
  }
}

}  // namespace
}  // namespace ddprun
