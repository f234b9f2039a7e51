#include "agent/coordinator_link.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "tests/support/captured_log.hpp"
#include "tests/support/event_loop.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

// An agent's end of the connection, and the test as the coordinator.
class LinkFixture {
 protected:
  LinkFixture() {
    run_ = {.run_id = "job", .host = "h1"};
    run_.coordinator = {"127.0.0.1", acceptor_.local_endpoint().port()};
    spec_.workers = 3;
  }

  CoordinatorLink& link() {
    if (!link_)
      link_.emplace(loop_.executor(), spec_, run_,
                    [this](const GroupEvent& event) { events_.push_back(event); });
    return *link_;
  }
  /// Connects, and returns the coordinator's end.
  std::shared_ptr<Channel> connected() {
    link().connect({{10s, 10s}, ++connections_, {4, 1}});
    tcp::socket socket = loop_.run(acceptor_.async_accept(asio::use_awaitable), "a connection");
    return std::make_shared<Channel>(std::move(socket));
  }
  AgentMessage heard(const std::shared_ptr<Channel>& channel) {
    const auto line = loop_.run(channel->receive(), "a line of the agent");
    REQUIRE(line.has_value());
    const auto message = decode_agent_message(*line);
    REQUIRE(message.has_value());
    return *message;
  }
  bool ended(const std::shared_ptr<Channel>& channel) {
    return !loop_.run(channel->receive(), "the end of the connection").has_value();
  }
  template <typename Event>
  const Event& told() {
    const auto is_it = [](const GroupEvent& e) { return std::holds_alternative<Event>(e); };
    loop_.run_until([&] { return std::ranges::any_of(events_, is_it); }, "an event");
    return std::get<Event>(*std::ranges::find_if(events_, is_it));
  }
  static void say(const std::shared_ptr<Channel>& channel, const CoordinatorMessage& message) {
    channel->send(encode(message));
  }

  const CapturedLog log_;
  EventLoop loop_;
  tcp::acceptor acceptor_{loop_.executor(), {asio::ip::address_v4::loopback(), 0}};
  LaunchSpec spec_;
  RunFacts run_;
  std::vector<GroupEvent> events_;
  int connections_ = 0;
  std::optional<CoordinatorLink> link_;
};

TEST_CASE_METHOD(LinkFixture, "it joins with what the node is, and hands on every order") {
  const auto coordinator = connected();
  const auto join = std::get<Join>(heard(coordinator));
  CHECK(join.run_id == "job");
  CHECK(join.host == "h1");
  CHECK(join.workers == 3);
  CHECK(join.known == Known{4, 1});
  told<Connected>();
  say(coordinator, Joined{5000});
  CHECK(std::get<Joined>(told<Ordered>().message).heartbeat_timeout_ms == 5000);
}

TEST_CASE_METHOD(LinkFixture, "what it is told to say arrives") {
  const auto coordinator = connected();
  heard(coordinator);
  link().send(Leave{"why"});
  CHECK(std::get<Leave>(heard(coordinator)).reason == "why");
}

TEST_CASE_METHOD(LinkFixture, "it tells that nobody listens, and where") {
  acceptor_.close();
  link().connect({{10s, 0s}, 1, {}});
  CHECK_THAT(told<CoordinatorUnreachable>().reason,
             contains("127.0.0.1 port " + std::to_string(run_.coordinator.port)));
}

TEST_CASE_METHOD(LinkFixture, "it tells the end of the connection once, and hears no more of it") {
  const auto coordinator = connected();
  heard(coordinator);
  coordinator->close();
  told<CoordinatorLost>();
  link().send(Beat{});
  loop_.poll();
  CHECK(events_.size() == 2);
}

TEST_CASE_METHOD(LinkFixture, "a coordinator that talks nonsense is lost, and hung up on") {
  const auto coordinator = connected();
  heard(coordinator);
  coordinator->send("nonsense\n");
  CHECK_FALSE(told<CoordinatorLost>().reason.empty());
  CHECK(ended(coordinator));
}

TEST_CASE_METHOD(LinkFixture, "after hanging up it tells nothing of the old connection") {
  const auto before = connected();
  const auto first = std::get<Join>(heard(before));
  say(before, Beat{});  // on its way
  link().disconnect();
  const auto after = connected();
  const auto second = std::get<Join>(heard(after));
  CHECK(ended(before));
  CHECK(first.node == second.node);
  CHECK(first.incarnation == 1);
  CHECK(second.incarnation == 2);
  say(after, Joined{5000});
  CHECK(std::holds_alternative<Joined>(told<Ordered>().message));
  CHECK(std::ranges::none_of(
      events_, [](const auto& e) { return std::holds_alternative<CoordinatorLost>(e); }));
}

TEST_CASE_METHOD(LinkFixture, "what was said before the end is sent") {
  const auto coordinator = connected();
  heard(coordinator);
  link().send(Leave{"why"});
  link().end();
  CHECK(std::holds_alternative<Leave>(heard(coordinator)));
  CHECK(ended(coordinator));
}

TEST_CASE("the end of a link is the end of its attempts to connect") {
  asio::io_context io;
  tcp::acceptor nobody{io, {asio::ip::address_v4::loopback(), 0}};
  const LaunchSpec spec;
  const RunFacts run{.coordinator = {"127.0.0.1", nobody.local_endpoint().port()}};
  nobody.close();
  bool told = false;
  CoordinatorLink link{io.get_executor(), spec, run, [&](const GroupEvent&) { told = true; }};
  link.connect({{1h, 1h}, 1, {}});
  io.run_for(30ms);
  REQUIRE_FALSE(io.stopped());
  link.end();
  io.run_for(kTestPatience);
  CHECK(io.stopped());
  CHECK_FALSE(told);
}

TEST_CASE_METHOD(LinkFixture, "workers find the store where the coordinator is, or where it says") {
  CHECK(link().open_store({.round = 1, .master_port = 7})->master_addr == "127.0.0.1");
  const auto elsewhere = link().open_store({.round = 1, .master_addr = "h0", .master_port = 7});
  CHECK(elsewhere->master_addr == "h0");
  CHECK(elsewhere->master_port == 7);
}

TEST_CASE_METHOD(LinkFixture, "with a local store workers find it here, at a port of the round") {
  spec_.rules.store = StoreAt::kLocal;
  const auto coordinator = connected();
  heard(coordinator);
  const auto round = link().open_store({.round = 1, .master_addr = "h0", .master_port = 7});
  REQUIRE(round.has_value());
  CHECK(round->master_addr == "127.0.0.1");
  const auto port = static_cast<std::uint16_t>(round->master_port);
  tcp::socket worker{loop_.executor()};
  worker.connect({asio::ip::address_v4::loopback(), port});
  link().close_store();
  loop_.poll();
  boost::system::error_code refused;
  tcp::socket late{loop_.executor()};
  late.connect({asio::ip::address_v4::loopback(), port}, refused);
  CHECK(refused == asio::error::connection_refused);
}

}  // namespace
}  // namespace ddprun
