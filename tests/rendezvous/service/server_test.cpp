#include "rendezvous/service/server.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/service/client.hpp"
#include "rendezvous/tunnel/tunnel_entrance.hpp"
#include "tests/rendezvous/service/server_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

// In the coroutines below every co_await stands in a statement of its own and takes no temporaries
// that own memory: g++ 12 destroys those twice.
TEST_CASE_METHOD(ServerFixture, "an agent that joins over the wire gets its round and its end") {
  serve(JobTerms{});
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
  serve(JobTerms{});
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

TEST_CASE_METHOD(ServerFixture, "an agent that cannot be understood gets the reason") {
  serve(JobTerms{});
  play([](ServerFixture& f) -> asio::awaitable<void> {
    const std::string later = "{\"type\":\"join\",\"protocol\":2,\"host\":\"h1\"}\n";
    const std::string to_later = co_await f.answer_to(later);
    CHECK_THAT(to_later, contains("the agent on h1 version 2"));
    Join odd = f.join("a");
    odd.terms.join_timeout = -1ms;
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
  serve(JobTerms{});
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
  serve(JobTerms{});
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
  serve(JobTerms{},
        {.join_timeout = 2s});  // the agent that does join has to do so in this time, too
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
  serve(JobTerms{}, {.join_bytes_max = 1500});
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
  serve(JobTerms{}, {.newcomers_max = 2});
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
  serve(JobTerms{}, {.newcomers_max = 8});
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
  serve(JobTerms{});
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
