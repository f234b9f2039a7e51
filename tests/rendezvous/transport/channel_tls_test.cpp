// Two Channels at the ends of a connection on loopback, which speak TLS; or one, and a peer that
// does not.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <vector>

#include "base/coroutines.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/transport/channel.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/job_keys.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;
using Heard = std::vector<std::string>;

// What one end hears, and a tunnel that takes every frame and sends what is put into `frames`.
struct Ear : TunnelEnd {
  Result<void> receive(const TunnelFrame& frame) override {
    const auto* data = std::get_if<TunnelData>(&frame);
    frame_bytes += data == nullptr ? 0 : data->bytes.size();
    return {};
  }
  void received_all() override {}
  void fill(std::string& out, std::size_t bytes_max) override {
    const std::size_t size = std::min(bytes_max, frames.size());
    out += frames.substr(0, size);
    frames.erase(0, size);
  }

  asio::awaitable<void> listen(std::shared_ptr<Channel> channel) {
    for (;;) {
      Result<std::string> line = co_await channel->receive();
      if (!line) {
        error = line.error();
        co_return;
      }
      lines.push_back(std::move(*line));
    }
  }

  Heard lines;
  std::size_t frame_bytes = 0;
  std::string frames;
  std::optional<Error> error;
};

struct ChannelTlsFixture {
  ChannelTlsFixture() {
    tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
    near.connect(acceptor.local_endpoint());
    far = acceptor.accept();
  }
  ~ChannelTlsFixture() {
    for (const auto& channel : {agent, coordinator}) {
      if (!channel) continue;
      channel->carry(nullptr);
      channel->close();
    }
    io.restart();
    io.poll();
  }

  void make_agent(JobKey key) {
    agent = std::make_shared<Channel>(
        std::move(near),
        std::make_unique<TlsSession>(TlsContext::for_agent(std::move(key)).value()));
    start_coroutine(
        io,
        [](ChannelTlsFixture& f) -> asio::awaitable<void> {
          f.secured = co_await f.agent->secure();
          if (*f.secured) co_await f.agent_hears.listen(f.agent);
        }(*this),
        report_failure("a test's agent"));
  }

  void make_coordinator(JobKey key) {
    coordinator = std::make_shared<Channel>(
        std::move(far),
        std::make_unique<TlsSession>(TlsContext::for_coordinator(std::move(key)).value()));
    start_coroutine(io, coordinator_hears.listen(coordinator),
                    report_failure("a test's coordinator"));
  }

  void meet() {
    make_agent(key_of(1));
    make_coordinator(key_of(1));
    run_until(io, "the handshake has ended", [&] { return secured.has_value(); });
    REQUIRE(secured->has_value());
  }

  void wait_for_lines(const Ear& ear, std::size_t count) {
    run_until(io, std::to_string(count) + " lines are heard",
              [&] { return ear.lines.size() >= count || ear.error.has_value(); });
    REQUIRE(ear.lines.size() == count);
  }

  asio::io_context io{1};
  tcp::socket near{io};
  tcp::socket far{io};
  std::shared_ptr<Channel> agent;
  std::shared_ptr<Channel> coordinator;
  Ear agent_hears;
  Ear coordinator_hears;
  std::optional<Result<void>> secured;
};

TEST_CASE_METHOD(ChannelTlsFixture, "lines go both ways inside TLS, in order and whole") {
  meet();
  Heard expected;
  for (int i = 0; i < 1000; ++i) {
    expected.push_back("line " + std::to_string(i) + std::string(i % 97, 'x'));
    agent->send(expected.back() + "\n");
    coordinator->send(expected.back() + "\n");
  }
  wait_for_lines(coordinator_hears, expected.size());
  wait_for_lines(agent_hears, expected.size());
  CHECK(coordinator_hears.lines == expected);
  CHECK(agent_hears.lines == expected);
  CHECK(coordinator->proven_run_id() == "job");
}

TEST_CASE_METHOD(ChannelTlsFixture, "lines that are sent before the handshake leave behind it") {
  make_agent(key_of(1));
  agent->send("early\n");
  make_coordinator(key_of(1));
  agent->send("later\n");
  wait_for_lines(coordinator_hears, 2);
  CHECK(coordinator_hears.lines == Heard{"early", "later"});
}

TEST_CASE_METHOD(ChannelTlsFixture, "the end of an agent's handshake leaves with its first line") {
  make_coordinator(key_of(1));
  agent = std::make_shared<Channel>(
      std::move(near), std::make_unique<TlsSession>(TlsContext::for_agent(key_of(1)).value()));
  start_coroutine(
      io,
      [](ChannelTlsFixture& f) -> asio::awaitable<void> {
        f.secured = co_await f.agent->secure();
      }(*this),
      report_failure("a test's agent"));
  run_until(io, "the handshake has ended", [&] { return secured.has_value(); });
  io.restart();
  while (io.poll() > 0) {
  }
  CHECK(coordinator->proven_run_id().empty());
  agent->send("hello\n");
  wait_for_lines(coordinator_hears, 1);
  CHECK(coordinator->proven_run_id() == "job");
}

TEST_CASE_METHOD(ChannelTlsFixture, "the longest line passes, and one byte more is an error") {
  meet();
  const std::string longest(kLineBytesMax - 1, 'x');
  agent->send(longest + "\n");
  wait_for_lines(coordinator_hears, 1);
  CHECK((coordinator_hears.lines[0] == longest));
  agent->send(longest + "x\n");
  run_until(io, "the line is refused", [&] { return coordinator_hears.error.has_value(); });
  CHECK(coordinator_hears.error->message ==
        "a line longer than " + std::to_string(kLineBytesMax) + " bytes");
}

TEST_CASE_METHOD(ChannelTlsFixture, "megabytes of frames pass between lines") {
  meet();
  for (Channel* channel : {agent.get(), coordinator.get()})
    channel->carry(channel == agent.get() ? &agent_hears : &coordinator_hears);
  constexpr std::size_t kFrames = 100;
  for (std::size_t i = 0; i < kFrames; ++i)
    write_frame(agent_hears.frames, TunnelData{1, std::string(kFramePayloadBytesMax, 'x')});
  agent->frames_wait();
  agent->send("a line\n");
  run_until(io, "all frames are heard",
            [&] { return coordinator_hears.frame_bytes == kFrames * kFramePayloadBytesMax; });
  CHECK(coordinator_hears.lines == Heard{"a line"});
}

TEST_CASE_METHOD(ChannelTlsFixture, "a channel inside TLS sends all that is queued, then closes") {
  meet();
  coordinator->send("the last words\n");
  coordinator->close_when_sent();
  run_until(io, "the agent has heard the end", [&] { return agent_hears.error.has_value(); });
  CHECK(agent_hears.lines == Heard{"the last words"});
  CHECK(agent_hears.error->kind == Error::Kind::kUnavailable);
}

TEST_CASE_METHOD(ChannelTlsFixture, "with another secret both ends learn that they are denied") {
  make_agent(key_of(1));
  make_coordinator(key_of(2));
  run_until(io, "both ends have ended",
            [&] { return secured.has_value() && coordinator_hears.error.has_value(); });
  REQUIRE_FALSE(secured->has_value());
  CHECK(secured->error().kind == Error::Kind::kDenied);
  CHECK(coordinator_hears.error->kind == Error::Kind::kDenied);
  CHECK(coordinator_hears.lines.empty());
}

TEST_CASE_METHOD(ChannelTlsFixture, "an agent's handshake ends when the other side hangs up") {
  make_agent(key_of(1));
  far.close();
  run_until(io, "the agent has given up", [&] { return secured.has_value(); });
  REQUIRE_FALSE(secured->has_value());
  CHECK(secured->error().kind == Error::Kind::kUnavailable);
}

TEST_CASE_METHOD(ChannelTlsFixture, "plain bytes on a channel that speaks TLS are an error") {
  make_coordinator(key_of(1));
  asio::write(near, asio::buffer(std::string{"{\"type\":\"join\"}\n"}));
  run_until(io, "they are refused", [&] { return coordinator_hears.error.has_value(); });
  CHECK(coordinator_hears.error->kind == Error::Kind::kInvalid);
  CHECK(coordinator_hears.lines.empty());
}

TEST_CASE_METHOD(ChannelTlsFixture, "half a handshake goes on with its rest") {
  TlsSession session{TlsContext::for_agent(key_of(1)).value()};
  const std::string hello = session.seal("").value();
  make_coordinator(key_of(1));
  asio::write(near, asio::buffer(hello.substr(0, 100)));
  while (io.poll() > 0) {
  }
  asio::write(near, asio::buffer(hello.substr(100)));
  std::array<char, 4096> answer{};
  std::size_t size = 0;
  near.async_read_some(asio::buffer(answer),
                       [&](boost::system::error_code, std::size_t read) { size = read; });
  run_until(io, "the coordinator answers", [&] { return size > 0; });
  CHECK(answer[0] == kTlsFirstByte);
  CHECK_FALSE(coordinator_hears.error.has_value());
}

}  // namespace
}  // namespace ddprun
