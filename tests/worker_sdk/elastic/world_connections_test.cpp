#include "worker_sdk/elastic/world_connections.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {

namespace {

/// A TCP connection that nobody has accepted yet, so that this process has one end of it alone.
class LoopConnection {
 public:
  LoopConnection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(listener_, generic, size) == 0);
    REQUIRE(listen(listener_, 4) == 0);
    REQUIRE(getsockname(listener_, generic, &size) == 0);
    address_ = address;
    connect_again();
  }
  ~LoopConnection() {
    close(file_);
    close_other_end();
  }
  LoopConnection(const LoopConnection&) = delete;
  LoopConnection& operator=(const LoopConnection&) = delete;

  int file() const { return file_; }
  void connect_again() {
    if (file_ >= 0) close(file_);
    file_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(file_, reinterpret_cast<sockaddr*>(&address_), sizeof address_) == 0);
  }
  /// Accepts the next connection, and returns what there is to read of it.
  std::string next_member() const {
    const int member = accept(listener_, nullptr, nullptr);
    REQUIRE(member >= 0);
    std::array<char, 64> bytes;
    const ssize_t length = recv(member, bytes.data(), bytes.size(), MSG_DONTWAIT);
    close(member);
    return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  }
  void close_other_end() {
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }

 private:
  sockaddr_in address_{};
  int listener_ = -1;
  int file_ = -1;
};

}  // namespace

TEST_CASE("elastic: who waits for a member that is lost before it connects is freed") {
  WorldConnections connections{2};
  const LoopConnection lost;  // whose end nobody accepts
  connections.note();
  connections.hang_up_for_members();
  CHECK(lost.next_member() == "");  // that connection itself has said nothing
  for (const std::int64_t pair : {0, 1})
    CHECK(lost.next_member() == std::string(reinterpret_cast<const char*>(&pair), sizeof pair));
}

TEST_CASE("elastic: who waits for a connection of the world is freed when it is shut down") {
  WorldConnections connections;
  const LoopConnection connection;
  connections.note();
  std::thread waiting{[&] {
    std::array<char, 1> byte;
    CHECK(recv(connection.file(), byte.data(), byte.size(), 0) == 0);
  }};
  connections.shut_down();
  waiting.join();
}

TEST_CASE(
    "elastic: connections of before are none of the world's, and sockets that listen neither") {
  LoopConnection before;
  WorldConnections connections;
  connections.note();
  connections.shut_down();
  CHECK(send(before.file(), "x", 1, MSG_NOSIGNAL) == 1);
  before.close_other_end();
  CHECK_FALSE(connections.hung_up());
}

TEST_CASE("elastic: it is seen that the other end of a connection has hung up") {
  LoopConnection connection;
  WorldConnections connections;
  connection.connect_again();  // where it listens is of before
  connections.note();
  CHECK_FALSE(connections.hung_up());
  connection.close_other_end();
  CHECK(connections.hung_up());
  connections.close();
  CHECK_FALSE(connections.hung_up());
}

TEST_CASE("elastic: who waits for the end of a world hears of it") {
  WorldConnections connections;
  CHECK_FALSE(connections.await_close(std::chrono::milliseconds{1}));
  std::thread closer{[&] { connections.close(); }};
  CHECK(connections.await_close(std::chrono::seconds{60}));
  closer.join();
}

}  // namespace ddprun::sdk
