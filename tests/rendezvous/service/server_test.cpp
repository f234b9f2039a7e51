#include "rendezvous/service/server.hpp"

#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/start_coroutine.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/service/client.hpp"
#include "rendezvous/tunnel/tunnel_entrance.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

const asio::ip::address kLoopback = asio::ip::address_v4::loopback();

// A coordinator on a free port of this machine, and coroutines that play its peers.
struct ServerFixture {
  void serve_many(ServerLimits limits = {}) {
    auto server = Server::listen(io_.get_executor(), kLoopback, 0, limits);
    REQUIRE(server.has_value());
    server_ = std::move(*server);
    server_->start();
  }

  void serve(CoordinatorRules rules, ServerLimits limits = {}) {
    rules.master_addr = "127.0.0.1";
    rules_ = rules;
    auto server = Server::listen(io_.get_executor(), rules, kLoopback, 0, limits);
    REQUIRE(server.has_value());
    server_ = std::move(*server);
    server_->start();
  }

  /// Runs `peer` to its end, then takes the server down.
  void play(asio::awaitable<void> peer) {
    bool done = false;
    co_spawn(io_, std::move(peer), [&](const std::exception_ptr& failure) {
      done = true;
      server_->close();
      if (failure) std::rethrow_exception(failure);
    });
    io_.run_for(100s);
    INFO("a peer was waiting for " << waiting_for_);
    REQUIRE(done);
  }

  asio::awaitable<std::shared_ptr<Channel>> agent() {
    const Endpoint coordinator{"127.0.0.1", server_->port()};
    auto channel = co_await connect(coordinator, {10s, 10s});
    REQUIRE(channel.has_value());
    co_return *channel;
  }
  static void say(Channel& channel, const AgentMessage& message) { channel.send(encode(message)); }

  Join join(const NodeId& node, int workers = 1) const {
    return Join{.run_id = rules_.run_id,
                .node = node,
                .host = node,
                .workers = workers,
                .terms = terms_of(rules_)};
  }

  Join join_job(const std::string& run_id) {
    return Join{.run_id = run_id, .node = "node" + std::to_string(++joined_), .host = "h"};
  }

  /// The next message of that kind; others are passed over. nullopt: the connection was closed.
  template <typename Message>
  asio::awaitable<std::optional<Message>> hear(Channel& channel) {
    waiting_for_ = encode(CoordinatorMessage{Message{}});
    for (;;) {
      const auto line = co_await channel.receive();
      if (!line) co_return std::nullopt;
      const auto message = decode_coordinator_message(*line);
      REQUIRE(message.has_value());
      if (const auto* found = std::get_if<Message>(&*message)) co_return *found;
    }
  }

  /// As above, where the test cannot go on without one.
  template <typename Message>
  asio::awaitable<Message> must_hear(Channel& channel) {
    const std::optional<Message> heard = co_await hear<Message>(channel);
    INFO("the connection was closed before " << waiting_for_);
    REQUIRE(heard.has_value());
    co_return *heard;
  }

  /// The first bytes that a peer gets which sends these; "" when the server closes the connection.
  asio::awaitable<std::string> answer_to(std::string bytes, asio::ip::address from = kLoopback) {
    tcp::socket socket = co_await connected(from);
    const auto buffer_of_bytes = asio::buffer(bytes);
    co_await asio::async_write(socket, buffer_of_bytes, asio::as_tuple(asio::use_awaitable));
    std::string answer;
    waiting_for_ = "an answer or the end of its connection";
    auto buffer = asio::dynamic_buffer(answer);
    co_await asio::async_read(socket, buffer, asio::transfer_at_least(1),
                              asio::as_tuple(asio::use_awaitable));
    co_return answer;
  }

  /// An agent whose connection comes from another address of this machine.
  asio::awaitable<std::shared_ptr<Channel>> agent_from(asio::ip::address address) {
    tcp::socket socket = co_await connected(address);
    co_return std::make_shared<Channel>(std::move(socket));
  }

  asio::awaitable<tcp::socket> connected(asio::ip::address from) {
    tcp::socket socket{io_, tcp::endpoint{from, 0}};
    const tcp::endpoint server{kLoopback, server_->port()};
    co_await socket.async_connect(server, asio::use_awaitable);
    co_return socket;
  }

  /// Until the server closes the connection of `peer`, which says a byte now and then.
  asio::awaitable<void> closes_though_it_talks(tcp::socket& peer) {
    waiting_for_ = "the end of a connection that never joins";
    asio::steady_timer pause{io_};
    for (boost::system::error_code gone; !gone;) {
      const auto byte = asio::buffer("{", 1);
      const auto [error, size] =
          co_await asio::async_write(peer, byte, asio::as_tuple(asio::use_awaitable));
      gone = error;
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
  }
  asio::awaitable<void> closes(tcp::socket& peer) {
    waiting_for_ = "the end of a connection";
    char byte = 0;
    const auto buffer = asio::buffer(&byte, 1);
    const auto [error, size] =
        co_await asio::async_read(peer, buffer, asio::as_tuple(asio::use_awaitable));
    CHECK(error);
  }

  asio::awaitable<void> closes_after_its_answers(tcp::socket& peer) {
    waiting_for_ = "the end of a connection";
    std::array<char, 1024> bytes{};
    for (boost::system::error_code gone; !gone;) {
      const auto buffer = asio::buffer(bytes);
      const auto [error, size] =
          co_await peer.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
      gone = error;
    }
  }

  asio::awaitable<Identity> introduction(std::string run_id) {
    const auto stranger = co_await agent();
    const Identify question{run_id};
    say(*stranger, question);
    const auto answer = co_await must_hear<Identity>(*stranger);
    co_return answer;
  }

  asio::io_context io_;
  CoordinatorRules rules_;
  int joined_ = 0;
  std::string waiting_for_ = "nothing";
  std::unique_ptr<Server> server_;
};

// In the coroutines below every co_await stands in a statement of its own and takes no temporaries
// that own memory: g++ 12 destroys those twice.
TEST_CASE_METHOD(ServerFixture, "an agent that joins over the wire gets its round and its end") {
  serve({});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto agent = co_await f.agent();
    say(*agent, f.join("a", 2));
    const auto joined = co_await f.must_hear<Joined>(*agent);
    CHECK(joined.heartbeat_timeout_ms == 5000);
    const auto round = co_await f.must_hear<StartRound>(*agent);
    CHECK(round.world_size == 2);
    CHECK(round.master_port == f.server_->port());
    say(*agent, Beat{});
    const auto beat = co_await f.hear<Beat>(*agent);
    CHECK(beat.has_value());
    say(*agent, WorkersFinished{round.round});
    const auto end = co_await f.must_hear<EndJob>(*agent);
    CHECK(end.outcome == EndJob::Outcome::kFinished);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a closed connection is a lost node, and the others go on") {
  serve({.nodes_min = 1, .nodes_max = 2, .last_call_timeout = 0ms});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto a = co_await f.agent();
    say(*a, f.join("a"));
    co_await f.hear<StartRound>(*a);
    const auto b = co_await f.agent();
    say(*b, f.join("b"));
    const auto joined = co_await f.must_hear<StopRound>(*a);
    CHECK(joined.reason == "node b joined");
    say(*a, WorkersStopped{joined.round});
    const auto both = co_await f.must_hear<StartRound>(*a);
    CHECK(both.group_world_size == 2);
    co_await f.hear<StartRound>(*b);
    b->close();
    const auto lost = co_await f.must_hear<StopRound>(*a);
    CHECK_THAT(lost.reason, contains("node b lost"));
    say(*a, WorkersStopped{lost.round});
    const auto alone = co_await f.must_hear<StartRound>(*a);
    CHECK(alone.group_world_size == 1);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "strangers on the port are cut off and cost nobody anything") {
  serve({});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    std::vector<std::string> strangers{"SSH-2.0-stranger\r\n", encode(AgentMessage{Beat{}}),
                                       "{" + std::string(kLineBytesMax, ' ')};
    for (const std::string& bytes : strangers) {
      const std::string answer = co_await f.answer_to(bytes);
      CHECK(answer.empty());
    }
    const auto agent = co_await f.agent();
    say(*agent, f.join("a"));
    const auto round = co_await f.hear<StartRound>(*agent);
    CHECK(round.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "an agent that cannot be understood is told why") {
  serve({});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const std::string later = "{\"type\":\"join\",\"protocol\":2,\"host\":\"h1\"}\n";
    const std::string to_later = co_await f.answer_to(later);
    CHECK_THAT(to_later, contains("the agent on h1 version 2"));
    Join odd = f.join("a");
    odd.terms.join_timeout_ms = -1;
    const std::string to_odd = co_await f.answer_to(encode(AgentMessage{odd}));
    CHECK_THAT(to_odd, contains("join_timeout_ms is -1 on a"));
    CHECK_THAT(to_odd, contains("\"type\":\"refused\""));
  }(*this));
}

TEST_CASE_METHOD(ServerFixture,
                 "an agent that connects again takes the place of its old connection") {
  serve({.nodes_min = 2, .nodes_max = 2});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto a = co_await f.agent();
    say(*a, f.join("a"));
    const auto half_dead = co_await f.agent();
    say(*half_dead, f.join("b"));
    co_await f.hear<StartRound>(*half_dead);
    const auto again = co_await f.agent();
    Join second = f.join("b");
    second.incarnation = 2;
    say(*again, second);
    const auto joined = co_await f.hear<Joined>(*again);
    CHECK(joined.has_value());
    const auto stop = co_await f.must_hear<StopRound>(*a);
    say(*a, WorkersStopped{stop.round});
    const auto round = co_await f.must_hear<StartRound>(*again);
    CHECK(round.round == 2);
    const auto closed = co_await f.hear<EndJob>(*half_dead);
    CHECK_FALSE(closed.has_value());
    say(*a, Beat{});  // nobody is lost with the old connection
    const auto beat = co_await f.hear<Beat>(*a);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a second agent with the same id does not disturb the first") {
  serve({});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join("a"));
    co_await f.hear<StartRound>(*first);
    const auto second = co_await f.agent();
    say(*second, f.join("a"));
    const auto joined = co_await f.hear<Joined>(*second);
    CHECK_FALSE(joined.has_value());
    say(*first, Beat{});
    const auto beat = co_await f.hear<Beat>(*first);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "an agent that left is forgotten when its connection closes") {
  serve({});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join("a"));
    co_await f.hear<StartRound>(*first);
    const Leave leave{"stopped by SIGTERM"};
    say(*first, leave);
    const auto closed = co_await f.hear<EndJob>(*first);
    CHECK_FALSE(closed.has_value());
    const auto second = co_await f.agent();
    say(*second, f.join("b"));
    const auto round = co_await f.must_hear<StartRound>(*second);
    CHECK(round.round == 2);
  }(*this));  // and the server closes all connections that it knows
}

TEST_CASE_METHOD(ServerFixture, "a server for many keeps jobs apart by their run id") {
  serve_many();
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto a = co_await f.agent();
    say(*a, f.join_job("a"));
    const auto round_of_a = co_await f.must_hear<StartRound>(*a);
    const auto b = co_await f.agent();
    say(*b, f.join_job("b"));
    const auto round_of_b = co_await f.must_hear<StartRound>(*b);
    CHECK(round_of_b.group_world_size == 1);
    CHECK(round_of_a.master_port != round_of_b.master_port);
    CHECK(round_of_a.master_addr.empty());
    say(*a, WorkersFinished{round_of_a.round});
    const auto end = co_await f.must_hear<EndJob>(*a);
    CHECK(end.outcome == EndJob::Outcome::kFinished);
    // The name is free again although the old job's agent has not gone yet.
    const auto next = co_await f.agent();
    say(*next, f.join_job("a"));
    const auto round = co_await f.must_hear<StartRound>(*next);
    CHECK(round.round == 1);
    say(*b, Beat{});
    const auto beat = co_await f.hear<Beat>(*b);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "with --store local clients come through an agent, or not at all") {
  serve({.store = StoreAt::kLocal});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const std::string hello{"\x00\xce\xf7\x85\x3c\x0d\x01\x02\x03\x04", 10};
    const auto agent = co_await f.agent();
    say(*agent, f.join("a"));
    const auto round = co_await f.must_hear<StartRound>(*agent);
    const auto entrance = std::make_shared<TunnelEntrance>(f.io_.get_executor(), agent);
    const auto port = entrance->open(round.round);
    REQUIRE(port.has_value());
    co_spawn(f.io_, f.hear<EndJob>(*agent), asio::detached);
    tcp::socket worker{f.io_};
    const tcp::endpoint store{asio::ip::address_v4::loopback(), *port};
    co_await worker.async_connect(store, asio::use_awaitable);
    co_await asio::async_write(worker, asio::buffer(hello), asio::use_awaitable);
    std::string answer(4, ' ');
    co_await asio::async_read(worker, asio::buffer(answer), asio::use_awaitable);
    CHECK(answer == "\x01\x02\x03\x04");
    const std::string refused = co_await f.answer_to(hello);
    CHECK(refused.empty());
    entrance->close();
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a host may use the store as long as an agent of it is there") {
  serve({.nodes_min = 1, .nodes_max = 2, .last_call_timeout = 0ms});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const std::string hello{"\x00\xce\xf7\x85\x3c\x0d\x01\x02\x03\x04", 10};
    const auto elsewhere = asio::ip::make_address("127.0.0.2");
    const auto before = co_await f.answer_to(hello, elsewhere);
    CHECK(before.empty());
    const auto here = co_await f.agent();
    say(*here, f.join("a"));
    co_await f.hear<StartRound>(*here);
    const auto there = co_await f.agent_from(elsewhere);
    say(*there, f.join("b"));
    const auto joined = co_await f.must_hear<StopRound>(*here);
    const auto with = co_await f.answer_to(hello, elsewhere);
    CHECK(with == "\x01\x02\x03\x04");
    there->close();
    say(*here, WorkersStopped{joined.round});
    co_await f.hear<StartRound>(*here);
    const auto after = co_await f.answer_to(hello, elsewhere);
    CHECK(after.empty());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job whose nodes have all gone gives way to one of other terms") {
  serve_many();
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join_job("a"));
    co_await f.hear<StartRound>(*first);
    const auto other = co_await f.agent();
    Join odd = f.join_job("a");
    odd.terms.restarts_max = 5;
    say(*other, odd);
    const auto refused = co_await f.must_hear<Refused>(*other);
    CHECK_THAT(refused.reason, contains("'--max-restarts=5'"));
    say(*first, Leave{"enough"});
    co_await f.hear<EndJob>(*first);
    const auto again = co_await f.agent();
    say(*again, odd);
    const auto round = co_await f.must_hear<StartRound>(*again);
    CHECK(round.round == 1);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a coordinator tells its process, and its job's name to nobody") {
  serve({.run_id = "mine"});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto stranger = co_await f.introduction("yours");
    CHECK(stranger.jobs == "another job");
    CHECK(stranger.pid == getpid());
    const auto knows = co_await f.introduction("mine");
    CHECK(knows.jobs == "the same job");
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "who guesses at the name of the job is not told it") {
  serve({.run_id = "mine"});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto stranger = co_await f.agent();
    Join guess = f.join("a");
    guess.run_id = "yours";
    say(*stranger, guess);
    const auto refused = co_await f.must_hear<Refused>(*stranger);
    CHECK(refused.reason == "this is the coordinator of another job than '--rdzv-id=yours'");
    co_await f.hear<Joined>(*stranger);  // it is hung up on
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a peer that has not joined in time is closed, though it talks") {
  serve({}, {.join_timeout = 2s});  // the agent that does join has to do so in this time, too
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto agent = co_await f.agent();
    say(*agent, f.join("a"));
    co_await f.hear<StartRound>(*agent);
    tcp::socket talker = co_await f.connected(kLoopback);
    co_await f.closes_though_it_talks(talker);
    tcp::socket silent = co_await f.connected(kLoopback);
    co_await f.closes(silent);
    say(*agent, Beat{});  // its time to join is long over, too
    const auto beat = co_await f.hear<Beat>(*agent);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "who says a lot before it joins is closed, and may say it later") {
  serve({}, {.join_bytes_max = 1500});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const std::string long_line = "{" + std::string(1499, ' ');
    const auto none = co_await f.answer_to(long_line);
    CHECK(none.empty());
    const auto agent = co_await f.agent();
    say(*agent, f.join("a"));
    const auto round = co_await f.must_hear<StartRound>(*agent);
    WorkerFailed failed{round.round, {}};
    failed.failure.message = std::string(2000, 'x');
    say(*agent, failed);
    const auto end = co_await f.must_hear<StopRound>(*agent);
    CHECK(end.round == round.round);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "of too many who have not joined, the first has to go") {
  serve({}, {.newcomers_max = 2});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    tcp::socket one = co_await f.connected(kLoopback);
    const auto two = co_await f.agent();
    tcp::socket three = co_await f.connected(kLoopback);
    co_await f.closes(one);
    say(*two, f.join("a"));
    const auto round = co_await f.hear<StartRound>(*two);
    CHECK(round.has_value());
    const auto three_and_four = co_await f.introduction("");  // both have a place
    CHECK(three_and_four.jobs == "the same job");
    CHECK(three.is_open());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a flood of silent peers keeps no agent out") {
  serve({}, {.newcomers_max = 8});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    std::vector<tcp::socket> flood;
    for (int i = 0; i < 100; ++i) {
      tcp::socket peer = co_await f.connected(kLoopback);
      flood.push_back(std::move(peer));
    }
    const auto agent = co_await f.agent();
    say(*agent, f.join("a"));
    const auto round = co_await f.hear<StartRound>(*agent);
    CHECK(round.has_value());
    for (int i = 0; i < 90; ++i) co_await f.closes(flood[i]);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job that has had no node for long leaves the server") {
  serve_many({.empty_job_kept = 20ms});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto stays = co_await f.agent();
    say(*stays, f.join_job("stays"));
    co_await f.hear<StartRound>(*stays);
    const auto goes = co_await f.agent();
    say(*goes, f.join_job("goes"));
    co_await f.hear<StartRound>(*goes);
    goes->close();
    f.waiting_for_ = "the end of an empty job";
    for (std::string jobs; jobs != "1 jobs";) {
      const auto answer = co_await f.introduction("");
      jobs = answer.jobs;
    }
    say(*stays, Beat{});
    const auto beat = co_await f.hear<Beat>(*stays);
    CHECK(beat.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a job of which no round has begun goes with its last node") {
  serve_many({.empty_job_kept = 24h});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto goes = co_await f.agent();
    Join patient = f.join_job("goes");
    patient.terms.nodes_max = 2;
    patient.terms.nodes_min = 2;
    say(*goes, patient);
    co_await f.hear<Joined>(*goes);
    const auto comes_back = co_await f.agent();
    patient.run_id = "goes on";
    patient.counters.round = 3;
    say(*comes_back, patient);
    co_await f.hear<Joined>(*comes_back);
    comes_back->close();
    goes->close();
    f.waiting_for_ = "the end of the job without a round";
    for (std::string jobs; jobs != "1 jobs";) {
      const auto answer = co_await f.introduction("");
      jobs = answer.jobs;
    }
  }(*this));
}

TEST_CASE("a server that may open few files lets in fewer of each address") {
  CHECK(limits_for(1'000'000).jobs_per_address_max == ServerLimits{}.jobs_per_address_max);
  CHECK(limits_for(200).jobs_per_address_max == 25);
  CHECK(limits_for(200).newcomers_max == 50);
}

TEST_CASE_METHOD(ServerFixture, "one address may begin so many jobs at a server, and no more") {
  serve_many({.jobs_per_address_max = 1});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto first = co_await f.agent();
    say(*first, f.join_job("a"));
    co_await f.hear<StartRound>(*first);
    const auto second = co_await f.agent();
    say(*second, f.join_job("b"));
    const auto refused = co_await f.must_hear<Refused>(*second);
    CHECK_THAT(refused.reason, contains("1 jobs already that were begun from 127.0.0.1"));
    const auto elsewhere = asio::ip::make_address("127.0.0.2");
    const auto third = co_await f.agent_from(elsewhere);
    say(*third, f.join_job("c"));
    const auto round = co_await f.hear<StartRound>(*third);
    CHECK(round.has_value());
  }(*this));
}

TEST_CASE_METHOD(ServerFixture,
                 "an agent for whose words there is no memory is lost, and no other") {
  serve({.nodes_min = 1, .nodes_max = 2, .last_call_timeout = 0ms});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const auto a = co_await f.agent();
    say(*a, f.join("a"));
    co_await f.hear<StartRound>(*a);
    tcp::socket b = co_await f.connected(kLoopback);
    const std::string join = encode(AgentMessage{f.join("b")});
    const auto first_words = asio::buffer(join);
    co_await asio::async_write(b, first_words, asio::use_awaitable);
    char answer = 0;
    const auto answer_buffer = asio::buffer(&answer, 1);
    co_await asio::async_read(b, answer_buffer, asio::use_awaitable);
    const std::string much = "{" + std::string(kLineBytesMax / 2, ' ');
    const auto more_words = asio::buffer(much);
    {
      const NoMemoryBeyond little{kLineBytesMax / 4};
      co_await asio::async_write(b, more_words, asio::as_tuple(asio::use_awaitable));
      co_await f.closes_after_its_answers(b);
    }
    const auto stop = co_await f.must_hear<StopRound>(*a);
    say(*a, WorkersStopped{stop.round});
    const auto alone = co_await f.must_hear<StartRound>(*a);
    CHECK(alone.group_world_size == 1);
  }(*this));
}

TEST_CASE_METHOD(ServerFixture, "a port that is taken is an error that names it") {
  serve({});
  const auto second =
      Server::listen(io_.get_executor(), {}, asio::ip::address_v4::loopback(), server_->port());
  REQUIRE(second.has_error());
  CHECK_THAT(second.error().message, contains("127.0.0.1 port " + std::to_string(server_->port())));
  CHECK_THAT(second.error().message, contains("in use"));
}

TEST_CASE("a coordinator that is not there is given up after the patience, with the reason") {
  asio::io_context io;
  std::optional<Result<std::shared_ptr<Channel>>> channel;
  co_spawn(io, connect({"127.0.0.1", 1}, {50ms, 50ms}),
           [&](const std::exception_ptr& failure, Result<std::shared_ptr<Channel>> result) {
             if (failure) std::rethrow_exception(failure);
             channel = std::move(result);
           });
  run_until(io, "the coordinator is given up", [&] { return channel.has_value(); });
  REQUIRE(channel->has_error());
  CHECK_THAT(channel->error().message, contains("127.0.0.1:1: Connection refused"));
}

}  // namespace
}  // namespace ddprun
