#include "base/system/peer_users.hpp"

#include <sys/fsuid.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

#include "base/system/accept.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;

constexpr uid_t kStranger = 65'534;  // "nobody"

// While it lives, this thread makes sockets as another user does, which only root can.
class AsUser {
 public:
  explicit AsUser(uid_t user) { setfsuid(user); }
  ~AsUser() { setfsuid(geteuid()); }
};

// A listener on loopback, and its clients.
struct DoorFixture {
  tcp::socket accepted_from(tcp::socket& client, const tcp::endpoint& where) {
    tcp::acceptor acceptor{io, where};
    client.connect(acceptor.local_endpoint());
    return acceptor.accept();
  }
  tcp::socket accepted_from(tcp::socket& client) {
    return accepted_from(client, {asio::ip::address_v4::loopback(), 0});
  }
  tcp::socket made_by(uid_t user, const tcp& protocol = tcp::v4()) {
    const AsUser as{user};
    return tcp::socket{io, protocol};
  }

  asio::io_context io{1};
  PeerUsers users;
  OwnUserFilter filter;
  const CapturedLog log;
};

TEST_CASE_METHOD(DoorFixture, "the user at the other end of a connection is this process's own") {
  tcp::socket client = made_by(geteuid());
  const tcp::socket connection = accepted_from(client);
  const auto user = users.user_of(connection);
  REQUIRE(user.has_value());
  CHECK(*user == geteuid());
  CHECK(filter.lets_in(connection));
  CHECK(log.text().empty());
}

TEST_CASE_METHOD(DoorFixture, "another user is told apart, kept out, and named in the log") {
  if (geteuid() != 0) {
    WARN("only root can make sockets of another user");
    SUCCEED();
    return;
  }
  tcp::socket stranger = made_by(kStranger);
  const tcp::socket connection = accepted_from(stranger);
  const auto user = users.user_of(connection);
  REQUIRE(user.has_value());
  CHECK(*user == kStranger);
  CHECK_FALSE(filter.lets_in(connection));
  CHECK_THAT(log.text(), contains("user 65534 may not use what belongs to user 0"));
  CHECK(users.user_of(stranger).value() == 0);  // the end here is root's
}

TEST_CASE_METHOD(DoorFixture, "a socket that speaks IPv6 to an IPv4 listener is found") {
  if (geteuid() != 0) {
    WARN("only root can make sockets of another user");
    SUCCEED();
    return;
  }
  boost::system::error_code no_ipv6;
  tcp::socket stranger{io};
  {
    const AsUser as{kStranger};
    stranger.open(tcp::v6(), no_ipv6);
  }
  if (no_ipv6) {
    WARN("there is no IPv6");
    SUCCEED();
    return;
  }
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  stranger.connect(
      {asio::ip::make_address_v6("::ffff:127.0.0.1"), acceptor.local_endpoint().port()});
  const tcp::socket connection = acceptor.accept();
  CHECK(users.user_of(connection).value() == kStranger);
}

TEST_CASE_METHOD(DoorFixture, "who has said something and closed already is not taken for root") {
  tcp::socket client = made_by(geteuid());
  const tcp::socket connection = accepted_from(client);
  asio::write(client, asio::buffer("set", 3));
  client.close();
  const auto user = users.user_of(connection);
  REQUIRE(user.has_error());
  CHECK(user.error().kind == Error::Kind::kNotFound);
  CHECK_FALSE(filter.lets_in(connection));
}

TEST_CASE_METHOD(DoorFixture,
                 "a process that listens at the peer's address is not taken for the peer") {
  boost::system::error_code taken = asio::error::address_in_use;
  for (int i = 0; i < 100 && taken; ++i) {  // somebody else may be faster to take the address
    tcp::socket client = made_by(geteuid());
    const tcp::socket connection = accepted_from(client);
    const auto at = client.local_endpoint();
    client.set_option(tcp::socket::linger{true, 0});
    client.close();  // resets the connection, so that the address is free at once
    tcp::acceptor other{io, tcp::v4()};
    other.bind(at, taken);
    if (taken) continue;
    other.listen();
    CHECK_FALSE(filter.lets_in(connection));
  }
  CHECK_FALSE(taken);
}

TEST_CASE_METHOD(DoorFixture, "many questions are answered by one socket") {
  tcp::socket client = made_by(geteuid());
  const tcp::socket connection = accepted_from(client);
  for (int i = 0; i < 1000; ++i) REQUIRE(users.user_of(connection).has_value());
}

}  // namespace
}  // namespace ddprun
