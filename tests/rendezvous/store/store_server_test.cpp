#include "rendezvous/store/store_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

#include "tests/rendezvous/store/store_clients.hpp"
#include "tests/rendezvous/store/store_fixture.hpp"
#include "tests/support/failing_memory.hpp"

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace ddprun;
using namespace std::chrono_literals;

namespace {

// A server on loopback; it runs only while a test waits for something.
struct ServerFixture : StoreClients {
  explicit ServerFixture(StoreLimits limits = {}) : server{context.get_executor(), limits} {}

  tcp::socket connect() {
    tcp::socket client{context};
    client.connect(acceptor.local_endpoint());
    server.adopt(acceptor.accept());
    return client;
  }

  tcp::socket validated() {
    tcp::socket client = connect();
    send(client, validate() + ping(1));
    CHECK(receive(client, 4) == raw(std::uint32_t{1}));
    return client;
  }

  static void send(tcp::socket& client, const std::string& bytes) {
    asio::write(client, asio::buffer(bytes));
  }

  std::string ask(tcp::socket& client, const std::string& bytes, std::size_t reply_size) {
    send(client, bytes);
    return receive(client, reply_size);
  }

  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  StoreServer server;
};

}  // namespace

TEST_CASE_METHOD(ServerFixture, "clients meet in the store") {
  auto one = validated();
  auto two = validated();
  CHECK(server.connections() == 2);
  send(one, wait_for({"/a"}));
  CHECK(ask(two, set("/a", "x") + get("/a"), 9) == text("x"));
  CHECK(receive(one, 1) == kStop);
}

TEST_CASE_METHOD(ServerFixture, "a closed connection is forgotten, with its wait") {
  auto waiter = validated();
  auto writer = validated();
  const std::size_t without_wait = server.bytes_used();
  CHECK(ask(waiter, wait_for({"/a"}) + ping(2), 4) == raw(2));
  CHECK(server.bytes_used() > without_wait);
  waiter.close();
  run_until("its connection is gone", [&] { return server.connections() == 1; });
  CHECK(server.bytes_used() == without_wait);
  CHECK(ask(writer, set("/a", "x") + get("/a"), 9) == text("x"));
}

TEST_CASE_METHOD(ServerFixture, "a client that misbehaves is closed, and no other one") {
  auto good = validated();
  auto http = connect();
  send(http, "GET / HTTP/1.1\r\n\r\n");
  CHECK(closed(http));
  auto liar = validated();
  send(liar, request(0x03, {raw(~std::uint64_t{0})}));
  CHECK(closed(liar));
  CHECK(server.connections() == 1);
  CHECK(ask(good, add("/n", 1), 8) == i64(1));
}

TEST_CASE_METHOD(ServerFixture, "a stalled half of a request delays nobody") {
  auto stalled = validated();
  auto other = validated();
  send(stalled, set("/a", "value").substr(0, 12));
  for (int i = 1; i <= 100; ++i) CHECK(ask(other, add("/n", 1), 8) == i64(i));
  send(stalled, set("/a", "value").substr(12) + get("/a"));
  CHECK(receive(stalled, 13) == text("value"));
}

TEST_CASE_METHOD(ServerFixture, "a new round closes the old connections and forgets the keys") {
  auto old = validated();
  auto waiter = validated();
  send(waiter, wait_for({"/later"}));
  CHECK(ask(old, set("/a", "old") + get("/a"), 11) == text("old"));
  server.begin_round();
  CHECK(server.connections() == 0);
  CHECK(closed(old));
  CHECK(closed(waiter));
  auto fresh = validated();
  CHECK(ask(fresh, get("/a") + count_keys(), 16) == text("") + i64(0));
  CHECK(ask(fresh, set("/later", "") + count_keys(), 8) == i64(1));
}

TEST_CASE_METHOD(ServerFixture,
                 "a straggler cannot write into the new round with what it has sent") {
  auto straggler = validated();
  send(straggler, set("/a", "stale"));  // in the socket's buffer, not yet read
  server.begin_round();
  CHECK(closed(straggler));
  auto fresh = validated();
  CHECK(ask(fresh, get("/a"), 8) == text(""));
}

TEST_CASE_METHOD(ServerFixture, "who floods and never reads is not served further, others are") {
  auto writer = validated();
  auto flooder = validated();
  auto other = validated();
  CHECK(ask(writer, set("/big", std::string(1 << 20, 'x')) + ping(2), 4) == raw(2));
  std::string flood;
  for (int i = 0; i < 500; ++i) flood += get("/big");
  send(flooder, flood);
  for (int i = 1; i <= 200; ++i) CHECK(ask(other, add("/n", 1), 8) == i64(i));
  CHECK(server.connections() == 3);
  for (int i = 0; i < 500; ++i) REQUIRE(receive(flooder, 8 + (1 << 20)).size() > 8);
}

TEST_CASE_METHOD(ServerFixture, "hundreds of waiters are woken by one write") {
  std::vector<tcp::socket> waiters;
  for (int i = 0; i < 400; ++i) waiters.push_back(connect());
  for (auto& waiter : waiters) send(waiter, validate() + wait_for({"/go"}));
  for (auto& waiter : waiters) ask(waiter, ping(1), 4);
  auto writer = validated();
  send(writer, set("/go", ""));
  for (auto& waiter : waiters) REQUIRE(receive(waiter, 1) == kStop);
}

TEST_CASE_METHOD(ServerFixture,
                 "a client that asks for more memory than there is costs itself only") {
  auto good = validated();
  auto greedy = validated();
  const std::string much = set("/big", std::string(4 << 20, 'x'));
  const NoMemoryBeyond little{2 << 20};
  asio::async_write(greedy, asio::buffer(much), [](boost::system::error_code, std::size_t) {});
  CHECK(closed(greedy));
  CHECK(server.connections() == 1);
  CHECK(ask(good, add("/n", 1), 8) == i64(1));
}

TEST_CASE("a client that never begins to speak is closed after the time allowed") {
  StoreLimits limits;
  limits.validate_timeout = 1ms;
  ServerFixture fixture{limits};
  auto silent = fixture.connect();
  auto half = fixture.connect();
  fixture.send(half, validate().substr(0, 3));
  CHECK(fixture.closed(silent));
  CHECK(fixture.closed(half));
  auto later = fixture.connect();
  CHECK(fixture.closed(later));
  CHECK(fixture.server.connections() == 0);
}

TEST_CASE("of too many who do not begin to speak, the oldest are closed") {
  StoreLimits limits;
  limits.unvalidated_max = 2;
  ServerFixture fixture{limits};
  auto one = fixture.connect();
  auto two = fixture.connect();
  CHECK(fixture.server.connections() == 2);
  auto three = fixture.connect();
  CHECK(fixture.server.connections() == 2);
  CHECK(fixture.closed(one));
  fixture.send(two, validate() + ping(3));
  CHECK(fixture.receive(two, 4) == raw(3));
}

TEST_CASE("a server may end before the event loop does") {
  asio::io_context context{1};
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  tcp::socket client{context};
  client.connect(acceptor.local_endpoint());
  {
    StoreServer server{context.get_executor()};
    server.adopt(acceptor.accept());
    ServerFixture::send(client, validate() + ping(1));
    context.poll();
  }
  context.restart();
  context.run();
  CHECK(context.stopped());  // nothing of the server was left to wait for
}
