#include "agent/coordinator_link.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/system/accept.hpp"
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
      link_.emplace(loop_.executor(), spec_, run_, own_,
                    [this](const AgentEvent& event) { events_.push_back(event); });
    return *link_;
  }
  /// Connects, and returns the coordinator's end, which has answered `join_`.
  std::shared_ptr<Channel> connected() {
    const auto before = times_connected();
    link().connect({{10s, 10s}, {4, 1}});
    tcp::socket socket = loop_.run(acceptor_.async_accept(asio::use_awaitable), "a connection");
    const auto channel = std::make_shared<Channel>(std::move(socket));
    join_ = std::get<Join>(heard(channel));
    CHECK(times_connected() == before);
    say(channel, Joined{5000});
    loop_.run_until([&] { return times_connected() > before; }, "the link to be connected");
    return channel;
  }
  long times_connected() const {
    return std::ranges::count_if(
        events_, [](const AgentEvent& e) { return std::holds_alternative<Connected>(e); });
  }
  /// Treats each client as `meet` does, and returns why the coordinator is given up in the end.
  std::string given_up(const std::function<void(tcp::socket)>& meet, Patience patience) {
    asio::co_spawn(loop_.executor(), accept_all(acceptor_, meet), asio::detached);
    link().connect({patience, {}});
    const std::string reason = told<CoordinatorUnreachable>().reason;
    CHECK(events_.size() == 1);  // nobody was connected, and nobody lost
    acceptor_.close();
    return reason;
  }
  std::string there() const { return "127.0.0.1:" + std::to_string(run_.coordinator.port); }
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
    const auto is_it = [](const AgentEvent& e) { return std::holds_alternative<Event>(e); };
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
  struct Standby : LocalCoordinator {
    std::uint16_t stand_by() override { return port; }
    std::uint16_t port = 0;
  };
  Standby own_;
  std::vector<AgentEvent> events_;
  Join join_;
  std::optional<CoordinatorLink> link_;
};

TEST_CASE_METHOD(LinkFixture, "a join says at which port this process would coordinate the job") {
  own_.port = 4711;
  connected();
  CHECK(join_.voter.standby_port == 4711);
  CHECK_FALSE(link().colocated());
}

TEST_CASE_METHOD(LinkFixture, "it joins with what the node is, and hands on every order") {
  const auto coordinator = connected();
  CHECK(join_.run_id == "job");
  CHECK(join_.host == "h1");
  CHECK(join_.workers == 3);
  CHECK(join_.counters == JobCounters{4, 1});
  CHECK(std::get<Joined>(told<Ordered>().message).heartbeat_timeout_ms == 5000);
  say(coordinator, Refused{"why"});
  loop_.run_until([&] { return events_.size() == 3; }, "the next order");
  CHECK(std::holds_alternative<Refused>(std::get<Ordered>(events_[2]).message));
}

TEST_CASE_METHOD(LinkFixture, "the link sends what it gets") {
  const auto coordinator = connected();
  link().send(Leave{"why"});
  CHECK(std::get<Leave>(heard(coordinator)).reason == "why");
}

TEST_CASE_METHOD(LinkFixture, "it reports that no process listens, and where") {
  acceptor_.close();
  link().connect({{10s, 0s}, {}});
  CHECK_THAT(told<CoordinatorUnreachable>().reason,
             contains("cannot reach the coordinator at " + there() + ": Connection refused"));
}

TEST_CASE_METHOD(LinkFixture,
                 "a peer that speaks another protocol is no coordinator, nor a lost one") {
  int visits = 0;
  const auto answer_as_a_web_server = [&](tcp::socket socket) {
    ++visits;
    asio::write(socket, asio::buffer(std::string{"HTTP/1.0 400 Bad Request\r\n"}));
  };
  CHECK_THAT(given_up(answer_as_a_web_server, {2s, 2s}),
             contains("something listens at " + there() +
                      ", but it does not speak ddprun's protocol: it said 'HTTP/1.0 400 Bad"));
  CHECK(visits <= 9);  // after 0, 10, 30, 70, 150, 310, 630 and 1270 ms
}

TEST_CASE_METHOD(LinkFixture, "a peer that hangs up is no lost coordinator") {
  CHECK(given_up([](tcp::socket) {}, {2s, 2s}) ==
        "something listens at " + there() + ", but it hangs up on nodes that want to join");
}

TEST_CASE_METHOD(LinkFixture, "a silent peer is given up in time, and tried again") {
  std::vector<tcp::socket> silent;
  CHECK(given_up([&](tcp::socket socket) { silent.push_back(std::move(socket)); }, {2s, 2s, 5ms}) ==
        "something listens at " + there() + ", but it does not answer as a coordinator does");
  CHECK(silent.size() > 1);
}

TEST_CASE_METHOD(LinkFixture, "it tells the end of the connection once, and hears no more of it") {
  const auto coordinator = connected();
  coordinator->close();
  told<CoordinatorLost>();
  link().send(Beat{});
  loop_.poll();
  CHECK(events_.size() == 3);  // Connected, Joined, and the end
}

TEST_CASE_METHOD(LinkFixture, "a coordinator that talks nonsense is lost, and hung up on") {
  const auto coordinator = connected();
  coordinator->send("nonsense\n");
  CHECK_FALSE(told<CoordinatorLost>().reason.empty());
  CHECK(ended(coordinator));
}

TEST_CASE_METHOD(LinkFixture, "after hanging up it tells nothing of the old connection") {
  const auto before = connected();
  const Join first = join_;
  say(before, Beat{});  // on its way
  link().disconnect();
  const auto after = connected();
  CHECK(ended(before));
  CHECK(first.node == join_.node);
  CHECK(first.incarnation == 1);
  CHECK(join_.incarnation == 2);
  CHECK(events_.size() == 4);  // Connected and Joined, twice
  CHECK(std::ranges::none_of(
      events_, [](const auto& e) { return std::holds_alternative<CoordinatorLost>(e); }));
}

TEST_CASE_METHOD(LinkFixture, "what was said before the end is sent") {
  const auto coordinator = connected();
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
  LocalCoordinator own;
  nobody.close();
  bool told = false;
  CoordinatorLink link{io.get_executor(), spec, run, own, [&](const AgentEvent&) { told = true; }};
  link.connect({{1h, 1h}, {}});
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
  spec_.terms.store = StoreAt::kLocal;
  const auto coordinator = connected();
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
