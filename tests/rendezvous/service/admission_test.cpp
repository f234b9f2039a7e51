// A coordinator with secrets, or without, and peers who do not fit.
#include "rendezvous/service/admission.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <semaphore>
#include <set>
#include <thread>

#include "rendezvous/service/client.hpp"
#include "rendezvous/service/server.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/job_keys.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

/// Whatever is played has ended by then. A peer with longer patience gets its answer at once.
constexpr auto kPlayMax = 100s;

// A server for many jobs, of which "one" and "two" have secrets.
struct AdmissionFixture {
  void serve(bool locked, int threads = 0) {
    auto listening = Server::listen(io.get_executor(), asio::ip::address_v4::loopback(), 0);
    REQUIRE(listening.has_value());
    server = std::move(*listening);
    if (locked) {
      const std::map<std::string, JobKey> keys{{key_of(1, "one").identity, key_of(1, "one")},
                                               {key_of(2, "two").identity, key_of(2, "two")}};
      auto tls = TlsContext::for_coordinator([this, keys](std::string_view identity) {
        searched_on.insert(std::this_thread::get_id());
        if (held) {
          searching.release();
          static_cast<void>(go_on.try_acquire_for(10s));
        }
        const auto found = keys.find(std::string{identity});
        return found == keys.end() ? std::nullopt : std::optional{found->second};
      });
      REQUIRE(tls.has_value());
      server->lock(std::move(*tls), threads);
    }
    server->start();
  }

  /// Runs `peer` to its end, then takes the server down.
  void play(asio::awaitable<void> peer) {
    bool done = false;
    co_spawn(io, std::move(peer), [&](const std::exception_ptr& failure) {
      done = true;
      server->close();
      if (failure) std::rethrow_exception(failure);
    });
    io.run_for(kPlayMax);
    REQUIRE(done);
  }

  asio::awaitable<Result<std::shared_ptr<Channel>>> come(std::shared_ptr<const TlsContext> tls,
                                                         std::chrono::seconds time = 10s) {
    const Endpoint coordinator{"127.0.0.1", server->port()};
    const Patience patience{time, time};
    auto channel = co_await connect(coordinator, patience, tls);
    co_return channel;
  }

  static std::shared_ptr<const TlsContext> with(JobKey key) {
    return TlsContext::for_agent(std::move(key)).value();
  }

  static Join join(const std::string& run_id, StoreAt store = StoreAt::kLocal) {
    return {.run_id = run_id, .node = "a", .host = "h", .terms = {.store = store}};
  }

  /// What the coordinator says next; nullopt when it hangs up.
  asio::awaitable<std::optional<CoordinatorMessage>> hear(const std::shared_ptr<Channel>& channel) {
    const auto line = co_await channel->receive();
    if (!line) co_return std::nullopt;
    const auto message = decode_coordinator_message(*line);
    REQUIRE(message.has_value());
    co_return *message;
  }

  /// The agent that has come joins the job "one".
  asio::awaitable<void> joins(const std::shared_ptr<Channel>& agent) {
    agent->send(encode(AgentMessage{join("one")}));
    const auto answer = co_await hear(agent);
    REQUIRE(answer.has_value());
    CHECK(std::holds_alternative<Joined>(*answer));
  }

  /// What a peer gets that sends these bytes: everything until the server closes the connection.
  asio::awaitable<std::string> answer_to(const std::string& bytes) {
    tcp::socket socket{io};
    const tcp::endpoint there{asio::ip::address_v4::loopback(), server->port()};
    co_await socket.async_connect(there, asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                              asio::as_tuple(asio::use_awaitable));
    co_return answer;
  }

  /// Peers that begin a handshake and go on no further: so many that threads help.
  asio::awaitable<void> crowd(std::vector<std::unique_ptr<tcp::socket>>& peers) {
    TlsSession session{with(key_of(1, "one"))};
    const std::string hello = session.seal("").value();
    for (std::size_t i = 0; i < 16; ++i) {
      peers.push_back(std::make_unique<tcp::socket>(io));
      const tcp::endpoint there{asio::ip::address_v4::loopback(), server->port()};
      co_await peers.back()->async_connect(there, asio::use_awaitable);
      const auto part = asio::buffer(hello.data(), i % 2 == 0 ? hello.size() : hello.size() / 2);
      co_await asio::async_write(*peers.back(), part, asio::use_awaitable);
    }
    std::array<char, 1> answer{};
    for (std::size_t i = 0; i < peers.size(); i += 2)
      co_await asio::async_read(*peers[i], asio::buffer(answer), asio::use_awaitable);
  }

  asio::io_context io{1};
  std::set<std::thread::id> searched_on;  // the threads that have looked for keys
  bool held = false;                      // somebody who looks for a key has to wait
  std::binary_semaphore searching{0};
  std::binary_semaphore go_on{0};
  std::unique_ptr<Server> server;
};

TEST_CASE_METHOD(AdmissionFixture, "an agent with the secret joins its job") {
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls);
    REQUIRE(agent.has_value());
    co_await f.joins(*agent);
  }(*this));
}

TEST_CASE_METHOD(AdmissionFixture,
                 "an agent with another secret is refused at once, with a line in the log") {
  const CapturedLog log;
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    for (const JobKey& wrong : {key_of(7, "one"), key_of(1, "three")}) {
      const auto tls = f.with(wrong);
      const auto agent = co_await f.come(tls, 2 * kPlayMax);
      REQUIRE(agent.has_error());
      CHECK(agent.error().kind == Error::Kind::kDenied);
      CHECK_THAT(agent.error().message, contains("does not take this node's secret"));
    }
  }(*this));
  CHECK_THAT(log.text(), contains("does not have the secret"));
}

TEST_CASE_METHOD(AdmissionFixture, "the secret of one job opens no other one") {
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls);
    REQUIRE(agent.has_value());
    (*agent)->send(encode(AgentMessage{f.join("two")}));
    const auto answer = co_await f.hear(*agent);
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    CHECK_THAT(std::get<Refused>(*answer).reason, contains("another job"));
  }(*this));
}

TEST_CASE_METHOD(AdmissionFixture, "a job with a secret has no store outside of its connections") {
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls);
    REQUIRE(agent.has_value());
    (*agent)->send(encode(AgentMessage{f.join("one", StoreAt::kLeader)}));
    const auto answer = co_await f.hear(*agent);
    REQUIRE(answer.has_value());
    CHECK(std::holds_alternative<Refused>(*answer));
  }(*this));
}

TEST_CASE_METHOD(AdmissionFixture, "who does not encrypt is turned away where there is a secret") {
  const CapturedLog log;
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto agent = co_await f.come(nullptr);
    REQUIRE(agent.has_value());
    (*agent)->send(encode(AgentMessage{f.join("one")}));
    const auto answer = co_await f.hear(*agent);
    REQUIRE(answer.has_value());
    REQUIRE(std::holds_alternative<Refused>(*answer));
    CHECK_THAT(std::get<Refused>(*answer).reason, contains("--secret-file"));
    const auto more = co_await f.hear(*agent);
    CHECK_FALSE(more.has_value());

    const std::vector<std::string> strangers{std::string{"\x00\xce\xf7\x85\x3c", 5},
                                             "GET / HTTP/1.0\r\n\r\n", std::string(100, '\x15')};
    for (const std::string& bytes : strangers) {
      const std::string nothing = co_await f.answer_to(bytes);
      CHECK(nothing.empty());
    }
  }(*this));
  CHECK_THAT(log.text(), contains("warning: turned away 127.0.0.1"));
  CHECK_THAT(log.text(), contains("does not encrypt"));
}

TEST_CASE_METHOD(AdmissionFixture,
                 "an agent with a secret is refused at once where there is none") {
  const CapturedLog log;
  serve(false);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls, 2 * kPlayMax);
    REQUIRE(agent.has_error());
    CHECK(agent.error().kind == Error::Kind::kDenied);
  }(*this));
  CHECK_THAT(log.text(), contains("there is none here"));
}

TEST_CASE_METHOD(AdmissionFixture, "an agent that leaves within its handshake disturbs nobody") {
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    TlsSession session{f.with(key_of(1, "one"))};
    const std::string hello = session.seal("").value();
    std::vector<std::unique_ptr<tcp::socket>> leavers;
    for (std::size_t size = 1; size <= hello.size(); size += 37) {
      leavers.push_back(std::make_unique<tcp::socket>(f.io));
      const tcp::endpoint there{asio::ip::address_v4::loopback(), f.server->port()};
      co_await leavers.back()->async_connect(there, asio::use_awaitable);
      const auto part = asio::buffer(hello.data(), size);
      co_await asio::async_write(*leavers.back(), part, asio::use_awaitable);
      if (size % 2 == 0) leavers.back()->close();
    }
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls);
    REQUIRE(agent.has_value());
    (*agent)->send(encode(AgentMessage{f.join("one")}));
    const auto answer = co_await f.hear(*agent);
    CHECK(answer.has_value());
    for (const auto& leaver : leavers) leaver->close();
  }(*this));
}

TEST_CASE_METHOD(AdmissionFixture, "one agent's handshake is the event loop's own work") {
  serve(true, 2);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const auto tls = f.with(key_of(1, "one"));
    const auto agent = co_await f.come(tls);
    CHECK(agent.has_value());
  }(*this));
  CHECK(searched_on == std::set{std::this_thread::get_id()});
}

TEST_CASE_METHOD(AdmissionFixture,
                 "peers that stall in a crowd of handshakes keep no thread from others") {
  serve(true, 2);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    std::vector<std::unique_ptr<tcp::socket>> stalled;
    co_await f.crowd(stalled);
    f.searched_on.clear();
    const auto tls = f.with(key_of(1, "one"));
    for (int i = 0; i < 50; ++i) {
      const auto agent = co_await f.come(tls);
      REQUIRE(agent.has_value());
      co_await f.joins(*agent);
    }
  }(*this));
  CHECK_FALSE(searched_on.contains(std::this_thread::get_id()));
}

TEST_CASE_METHOD(AdmissionFixture, "an agent with another secret is turned away in a crowd, too") {
  const CapturedLog log;
  serve(true, 2);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    std::vector<std::unique_ptr<tcp::socket>> stalled;
    co_await f.crowd(stalled);
    const auto tls = f.with(key_of(7, "one"));
    const auto agent = co_await f.come(tls);
    REQUIRE(agent.has_error());
    CHECK(agent.error().kind == Error::Kind::kDenied);
  }(*this));
  CHECK_THAT(log.text(), contains("does not have the secret"));
}

TEST_CASE_METHOD(AdmissionFixture, "a server may close while threads work at handshakes") {
  serve(true, 1);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    std::vector<std::unique_ptr<tcp::socket>> stalled;
    co_await f.crowd(stalled);
    f.held = true;
    TlsSession session{f.with(key_of(1, "one"))};
    const std::string hello = session.seal("").value();
    tcp::socket agent{f.io};
    const tcp::endpoint there{asio::ip::address_v4::loopback(), f.server->port()};
    co_await agent.async_connect(there, asio::use_awaitable);
    co_await asio::async_write(agent, asio::buffer(hello), asio::use_awaitable);
    asio::steady_timer pause{f.io};
    while (!f.searching.try_acquire()) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    f.server->close();
    f.go_on.release();
    std::string answer;
    const auto [ended, ignored] = co_await asio::async_read(agent, asio::dynamic_buffer(answer),
                                                            asio::as_tuple(asio::use_awaitable));
    CHECK(ended);
  }(*this));
}

TEST_CASE_METHOD(AdmissionFixture, "hundreds of strangers write few lines to the log") {
  const CapturedLog log;
  serve(true);
  play([](AdmissionFixture& f) -> asio::awaitable<void> {
    const std::string bytes = "stranger";
    for (int i = 0; i < 200; ++i) co_await f.answer_to(bytes);
  }(*this));
  const std::string text = log.text();
  CHECK(std::count(text.begin(), text.end(), '\n') < 60);
}

}  // namespace
}  // namespace ddprun
