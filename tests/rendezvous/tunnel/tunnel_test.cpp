// Both ends of a tunnel, with the store behind it and workers' sockets before it, on loopback.
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "base/coroutines.hpp"
#include "rendezvous/tunnel/tunnel_entrance.hpp"
#include "rendezvous/tunnel/tunnel_exit.hpp"
#include "tests/rendezvous/store/store_clients.hpp"
#include "tests/rendezvous/store/store_fixture.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

struct TunnelFixture;

// One node: its agent's end, the coordinator's end, and the connection between them.
struct Node {
  Node(TunnelFixture& fixture, TunnelLimits limits);

  std::shared_ptr<Channel> agent;
  std::shared_ptr<Channel> coordinator;
  std::shared_ptr<TunnelEntrance> entrance;
  std::optional<TunnelExit> exit;
  std::uint16_t port = 0;
  std::vector<std::string> lines;  // that the coordinator has heard
  std::string agent_error;         // why a connection has ended
  std::string coordinator_error;
};

struct TunnelFixture : StoreClients {
  ~TunnelFixture() {
    for (const auto& node : nodes) {
      node->entrance->close();
      node->agent->close();
      node->coordinator->close();
    }
    store.close();
    context.restart();
    context.run_for(60s);
    if (!context.stopped()) FAIL_CHECK("something goes on although everything is closed");
  }

  Node& node(TunnelLimits limits = {}) {
    nodes.push_back(std::make_unique<Node>(*this, limits));
    return *nodes.back();
  }

  tcp::socket connect(const Node& node) {
    tcp::socket client{context};
    client.connect({asio::ip::address_v4::loopback(), node.port});
    return client;
  }
  tcp::socket worker(const Node& node) {
    tcp::socket client = connect(node);
    CHECK(ask(client, validate() + ping(1), 4) == raw(std::uint32_t{1}));
    return client;
  }

  /// Big ones, too: what the other side does not take waits. True, once it has all been taken.
  std::shared_ptr<bool> send(tcp::socket& client, std::string bytes) {
    const auto kept = std::make_shared<std::string>(std::move(bytes));
    const auto taken = std::make_shared<bool>(false);
    asio::async_write(
        client, asio::buffer(*kept),
        [kept, taken](boost::system::error_code error, std::size_t) { *taken = !error; });
    return taken;
  }

  std::string ask(tcp::socket& client, const std::string& bytes, std::size_t reply_size) {
    send(client, bytes);
    return receive(client, reply_size);
  }

  void begin_round(int number) {
    round = number;
    store.begin_round();
    for (const auto& node : nodes) open(*node);
  }

  void open(Node& node) const {
    const auto opened = node.entrance->open(round);
    REQUIRE(opened.has_value());
    node.port = *opened;
  }

  int round = 1;
  StoreServer store{context.get_executor()};
  std::vector<std::unique_ptr<Node>> nodes;
};

asio::awaitable<void> listen_to(std::shared_ptr<Channel> channel, std::vector<std::string>& lines,
                                std::string& why) {
  for (;;) {
    const Result<std::string> line = co_await channel->receive();
    if (!line) {
      why = line.error().message;
      co_return channel->close();
    }
    lines.push_back(*line);
  }
}

Node::Node(TunnelFixture& fixture, TunnelLimits limits) {
  tcp::acceptor acceptor{fixture.context, {asio::ip::address_v4::loopback(), 0}};
  tcp::socket socket{fixture.context};
  socket.connect(acceptor.local_endpoint());
  agent = std::make_shared<Channel>(std::move(socket));
  coordinator = std::make_shared<Channel>(acceptor.accept());
  entrance = std::make_shared<TunnelEntrance>(fixture.context.get_executor(), agent, limits);
  exit.emplace(coordinator, fixture.store, [&fixture](std::uint32_t round) {
    return static_cast<int>(round) == fixture.round;
  });
  fixture.open(*this);
  start_coroutine(fixture.context, listen_to(coordinator, lines, coordinator_error),
                  report_failure("a test's coordinator"));
  start_coroutine(fixture.context, listen_to(agent, lines, agent_error),
                  report_failure("a test's agent"));
}

}  // namespace

TEST_CASE_METHOD(TunnelFixture, "workers of two nodes meet in the store") {
  auto one = worker(node());
  auto two = worker(node());
  CHECK(store.connections() == 2);
  send(one, wait_for({"/a"}));
  CHECK(ask(two, set("/a", "x") + get("/a"), 9) == text("x"));
  CHECK(receive(one, 1) == kStop);
  CHECK(ask(one, add("/n", 3), 8) == i64(3));
  CHECK(ask(two, add("/n", 4), 8) == i64(7));
  send(one, queue_push("/q", "item"));
  CHECK(ask(one, queue_length("/q"), 8) == i64(1));
  CHECK(ask(two, queue_pop("/q"), 20) == i64(1) + text("item"));
}

TEST_CASE_METHOD(TunnelFixture, "values of many megabytes come through both ways") {
  auto one = worker(node());
  auto two = worker(node());
  std::string all;
  std::string names;
  for (int i = 0; i < 5; ++i) {
    const std::string value(8 * kMegabyte, static_cast<char>('a' + i));
    const std::string key = "/" + std::to_string(i);
    send(one, set(key, value));
    REQUIRE(ask(two, wait_for({key}), 1) == kStop);
    all += text(value);
  }
  CHECK((ask(two, multi_get({"/0", "/1", "/2", "/3", "/4"}), all.size()) == all));
}

TEST_CASE_METHOD(TunnelFixture, "a worker that does not read delays nobody and costs little") {
  Node& here = node();
  auto lazy = worker(here);
  auto other = worker(here);
  CHECK(ask(other, set("/big", std::string(kMegabyte, 'x')) + ping(2), 4) == raw(2));
  std::string flood;
  for (int i = 0; i < 500; ++i) flood += get("/big");
  send(lazy, flood);
  for (int i = 1; i <= 200; ++i) CHECK(ask(other, add("/n", 1), 8) == i64(i));
  CHECK(store.bytes_used() < 16 * kMegabyte);
  for (int i = 0; i < 500; ++i) REQUIRE(receive(lazy, 8 + kMegabyte).size() > 8);
}

TEST_CASE_METHOD(TunnelFixture, "lines go before the bytes of workers") {
  Node& here = node();
  auto busy = worker(here);
  send(busy, set("/big", std::string(8 * kMegabyte, 'x')) + ping(3));
  run_until("a megabyte has come", [&] { return store.bytes_used() > kMegabyte; });
  here.agent->send("{\"type\":\"beat\"}\n");
  run_until("the line has come", [&] { return !here.lines.empty(); });
  CHECK(store.bytes_used() < 8 * kMegabyte);  // the value is still on its way
  CHECK(receive(busy, 4) == raw(3));
}

TEST_CASE_METHOD(TunnelFixture, "a worker that has gone is forgotten, with its wait") {
  auto gone = worker(node());
  auto other = worker(node());
  send(gone, wait_for({"/a"}));
  gone.close();
  run_until("its client is gone", [&] { return store.connections() == 1; });
  CHECK(ask(other, set("/a", "x") + get("/a"), 9) == text("x"));
  run_until("its agent has forgotten it", [&] { return nodes[0]->entrance->clients() == 0; });
}

TEST_CASE_METHOD(TunnelFixture, "what a worker sends before it goes is not lost") {
  auto last_words = worker(node());
  auto other = worker(node());
  send(other, wait_for({"/end"}));
  const auto sent =
      send(last_words, set("/big", std::string(2 * kMegabyte, 'x')) + set("/end", ""));
  run_until("its last words are taken", [&] { return *sent; });
  last_words.shutdown(tcp::socket::shutdown_send);
  CHECK(receive(other, 1) == kStop);
  CHECK(closed(last_words));
}

TEST_CASE_METHOD(TunnelFixture, "a peer that misbehaves is closed, and no other one") {
  Node& here = node();
  auto good = worker(here);
  auto http = connect(here);
  send(http, "GET / HTTP/1.1\r\n\r\n");
  CHECK(closed(http));
  auto liar = worker(here);
  send(liar, request(0x03, {raw(~std::uint64_t{0})}));
  CHECK(closed(liar));
  CHECK(store.connections() == 1);
  CHECK(ask(good, add("/n", 1), 8) == i64(1));
  CHECK(here.coordinator_error.empty());
}

TEST_CASE_METHOD(TunnelFixture, "with the agent's connection all of its workers' clients go") {
  Node& lost = node();
  auto one = worker(lost);
  auto two = worker(lost);
  auto other = worker(node());
  send(one, wait_for({"/a"}));
  lost.exit.reset();
  lost.coordinator->close();
  CHECK(store.connections() == 1);
  run_until("the agent has noticed", [&] { return !lost.agent_error.empty(); });
  lost.entrance->close();
  CHECK(closed(one));
  CHECK(closed(two));
  CHECK(ask(other, add("/n", 1), 8) == i64(1));
}

TEST_CASE_METHOD(TunnelFixture,
                 "a new round cuts off the workers of the last, whose keys are gone") {
  Node& here = node();
  auto old = worker(here);
  auto waiter = worker(here);
  send(waiter, wait_for({"/later"}));
  CHECK(ask(old, set("/a", "old") + get("/a"), 11) == text("old"));
  begin_round(2);
  CHECK(closed(old));
  CHECK(closed(waiter));
  auto fresh = worker(here);
  CHECK(ask(fresh, get("/a") + count_keys(), 16) == text("") + i64(0));
}

TEST_CASE_METHOD(TunnelFixture, "a straggler of an old round is not let into the new one") {
  Node& here = node();
  round = 2;  // the coordinator has begun it, and the agent does not know yet
  store.begin_round();
  auto straggler = connect(here);
  send(straggler, validate() + set("/a", "stale"));
  CHECK(closed(straggler));
  begin_round(2);
  auto fresh = worker(here);
  CHECK(ask(fresh, get("/a"), 8) == text(""));
}

TEST_CASE_METHOD(TunnelFixture, "hundreds of workers on several nodes are woken by one write") {
  std::vector<tcp::socket> waiters;
  for (int i = 0; i < 4; ++i) {
    Node& here = node();
    for (int j = 0; j < 100; ++j) waiters.push_back(connect(here));
  }
  for (auto& waiter : waiters) send(waiter, validate() + wait_for({"/go"}) + ping(1));
  for (auto& waiter : waiters) REQUIRE(receive(waiter, 4) == raw(1));
  CHECK(store.connections() == 400);
  auto writer = worker(*nodes[0]);
  send(writer, set("/go", ""));
  for (auto& waiter : waiters) REQUIRE(receive(waiter, 1) == kStop);
}

TEST_CASE_METHOD(TunnelFixture, "an agent that breaks the tunnel's rules is cut off") {
  Node& liar = node();
  auto cut_off_by = [&](const TunnelFrame& frame) {
    std::string bytes;
    write_frame(bytes, TunnelOpen{1, 1});
    write_frame(bytes, frame);
    liar.agent->send(bytes);
    run_until("the agent is cut off", [&] { return !liar.coordinator_error.empty(); });
    return liar.coordinator_error;
  };
  SECTION("by connecting a client twice") {
    CHECK_THAT(cut_off_by(TunnelOpen{1, 1}), contains("store client 1 has connected twice"));
  }
  SECTION("by granting what was not sent") {
    CHECK_THAT(cut_off_by(TunnelCredit{1, 100}), contains("credit for 100 bytes"));
  }
  SECTION("by a frame without a tunnel") {
    liar.exit.reset();
    CHECK_THAT(cut_off_by(TunnelClose{1}), contains("a tunnel that is not there"));
  }
}

TEST_CASE_METHOD(TunnelFixture, "a client that sends more than it was granted breaks the rules") {
  Node& liar = node();
  auto reader = worker(node());
  CHECK(ask(reader, set("/big", std::string(4 * kMegabyte, 'x')) + ping(2), 4) == raw(2));
  std::string bytes;
  write_frame(bytes, TunnelOpen{1, 1});
  write_frame(bytes, TunnelData{1, validate() + get("/big") + get("/big")});
  // It is given no more than a window of replies, takes none of it, and so is not served further.
  const std::string requests(kFramePayloadBytesMax, '\x07');
  for (int i = 0; i < 5; ++i) write_frame(bytes, TunnelData{1, requests});
  liar.agent->send(bytes);
  run_until("the agent is cut off", [&] { return !liar.coordinator_error.empty(); });
  CHECK_THAT(liar.coordinator_error, contains("more bytes of a store client"));
}

TEST_CASE_METHOD(TunnelFixture, "a client whose requests had to wait gets credit for them again") {
  auto writer = worker(node());
  auto asker = worker(node());
  const std::string key = "/" + std::string(8100, 'k');
  CHECK(ask(writer, set(key, std::string(kMegabyte, 'x')) + ping(2), 4) == raw(2));
  // The replies are so long that each request but the first waits until replies have been read, and
  // the requests together are longer than a window.
  constexpr int kRequests = 34;
  static_assert(kRequests * 8100 > kTunnelWindowBytes);
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += get(key);
  send(asker, requests);
  for (int i = 0; i < kRequests; ++i) REQUIRE(receive(asker, 8 + kMegabyte).size() > kMegabyte);
  CHECK(ask(asker, ping(3), 4) == raw(3));
}

TEST_CASE_METHOD(TunnelFixture, "a node's workers have a number of connections, and no more") {
  Node& here = node({.clients_max = 2});
  auto one = worker(here);
  auto two = worker(here);
  auto too_many = connect(here);
  send(too_many, validate() + ping(1));  // a silent one would be closed by the store, too
  CHECK(closed(too_many));
  CHECK(here.entrance->clients() == 2);
  one.close();
  run_until("one has gone", [&] { return here.entrance->clients() == 1; });
  auto next = worker(here);
  CHECK(ask(next, add("/n", 1), 8) == i64(1));
  CHECK(ask(two, add("/n", 1), 8) == i64(2));
}

TEST_CASE_METHOD(TunnelFixture,
                 "a node has a number of store clients at the coordinator, and no more") {
  Node& liar = node();
  const auto say = [&](const TunnelFrame& frame) {
    std::string bytes;
    write_frame(bytes, frame);
    liar.agent->send(bytes);
  };
  const std::string hello = validate();
  for (TunnelClientId client = 1; client <= kTunnelClientsMax; ++client) {
    say(TunnelOpen{client, 1});
    say(TunnelData{client, hello});
  }
  run_until("all are let in", [&] { return store.connections() == kTunnelClientsMax; });
  say(TunnelClose{1});
  say(TunnelOpen{kTunnelClientsMax + 1, 1});
  say(TunnelData{kTunnelClientsMax + 1, hello});
  liar.agent->send("{\"type\":\"beat\"}\n");
  run_until("all that is heard", [&] { return !liar.lines.empty(); });
  CHECK(store.connections() == kTunnelClientsMax);
  CHECK(liar.coordinator_error.empty());
  say(TunnelOpen{kTunnelClientsMax + 2, 1});
  run_until("the agent is cut off", [&] { return !liar.coordinator_error.empty(); });
  CHECK(liar.coordinator_error == "more than 16384 store clients of one node");
}

TEST_CASE_METHOD(TunnelFixture, "what workers of a node leave unread is limited for all of them") {
  auto writer = worker(node());
  CHECK(ask(writer, set("/big", std::string(kMegabyte, 'x')) + ping(2), 4) == raw(2));
  const tcp::socket::receive_buffer_size small_buffer{64 * 1024};  // otherwise the kernel's grows
  constexpr int kReplies = 16;  // a megabyte each, more than the kernel's buffers hold
  std::string flood;
  for (int i = 0; i < kReplies; ++i) flood += get("/big");
  SECTION("a window of one worker is not too much") {
    Node& here = node({.unread_bytes_max = kTunnelWindowBytes});
    auto lazy = worker(here);
    lazy.set_option(small_buffer);
    send(lazy, flood);
    for (int i = 1; i <= 200; ++i) CHECK(ask(writer, add("/n", 1), 8) == i64(i));
    for (int i = 0; i < 6; ++i) REQUIRE(receive(lazy, 8 + kMegabyte).size() > kMegabyte);
    for (int i = 201; i <= 400; ++i) CHECK(ask(writer, add("/n", 1), 8) == i64(i));
    for (int i = 6; i < kReplies; ++i) REQUIRE(receive(lazy, 8 + kMegabyte).size() > kMegabyte);
  }
  SECTION("a worker whose round has ended may still read what had come for it") {
    Node& here = node();
    auto lazy = worker(here);
    lazy.set_option(small_buffer);
    auto other = worker(here);
    send(lazy, flood);
    for (int i = 1; i <= 200; ++i) CHECK(ask(writer, add("/n", 1), 8) == i64(i));
    store.begin_round();
    CHECK(closed(other));
    CHECK(here.entrance->clients() == 1);
    std::string all;
    bool ended = false;
    asio::async_read(lazy, asio::dynamic_buffer(all),
                     [&](boost::system::error_code, std::size_t) { ended = true; });
    run_until("it has read all", [&] { return ended; });
    CHECK(all.size() > kTunnelWindowBytes);
    CHECK(here.entrance->clients() == 0);
  }
  SECTION("a client that has more coming is closed, and no other one") {
    Node& here = node({.unread_bytes_max = kTunnelWindowBytes / 4});
    auto lazy = worker(here);
    lazy.set_option(small_buffer);
    auto other = worker(here);
    send(lazy, flood);
    run_until("it is closed", [&] { return here.entrance->clients() == 1; });
    CHECK(ask(other, add("/n", 1), 8) == i64(1));
    CHECK(here.agent_error.empty());
  }
}

}  // namespace ddprun
