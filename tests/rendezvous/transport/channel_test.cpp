// A Channel at one end of a connection on loopback, and a plain socket at the other.
#include "rendezvous/transport/channel.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <vector>

#include "base/coroutines.hpp"
#include "base/match.hpp"
#include "base/system/endpoint_text.hpp"
#include "rendezvous/messages/messages.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/run_until.hpp"

namespace ddprun {
namespace {

using asio::ip::tcp;

std::string bytes_of(const TunnelFrame& frame) {
  std::string bytes;
  write_frame(bytes, frame);
  return bytes;
}

// A tunnel that remembers what it is given, and sends what a test puts into `frames`.
struct TunnelDouble : TunnelEnd {
  explicit TunnelDouble(std::vector<std::string>& heard) : heard_{heard} {}

  Result<void> receive(const TunnelFrame& frame) override {
    if (refuses) return invalid("the tunnel wants none of it");
    ++received;
    const auto* data = std::get_if<TunnelData>(&frame);
    heard_.push_back(data == nullptr ? "frame" : "frame " + std::string{data->bytes});
    return {};
  }
  void received_all() override { dealt_with = received; }
  void fill(std::string& out, std::size_t) override {
    out += frames;
    frames.clear();
  }

  std::string frames;
  bool refuses = false;
  int received = 0;
  int dealt_with = 0;  // how many had been received when received_all() was called last

 private:
  std::vector<std::string>& heard_;
};

constexpr std::size_t kHeardMax = 100;

struct ChannelFixture {
  ChannelFixture() {
    tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
    peer.connect(acceptor.local_endpoint());
    channel = std::make_shared<Channel>(acceptor.accept());
  }
  ~ChannelFixture() {
    if (tunnelled) channel->carry(nullptr);
    channel->close();
    io.restart();
    io.poll();
  }

  void carry() {
    channel->carry(&tunnel);
    tunnelled = true;
  }

  /// Reads the channel's lines into `heard` until the connection ends, and then `error` says why.
  void listen() {
    start_coroutine(
        io,
        [](ChannelFixture& f) -> asio::awaitable<void> {
          for (;;) {
            const Result<std::string> line = co_await f.channel->receive();
            if (!line) {
              f.error = line.error();
              co_return;
            }
            f.heard.push_back("line " + *line);
            if (f.heard.size() == kHeardMax) {
              f.error = invalid("there is no end to what is heard");
              co_return;
            }
          }
        }(*this),
        report_failure("a test's listener"));
  }

  void peer_sends(const std::string& bytes) { asio::write(peer, asio::buffer(bytes)); }
  void peer_sends_all(std::string bytes) {  // more than fits into the kernel's buffers
    const auto kept = std::make_shared<std::string>(std::move(bytes));
    asio::async_write(peer, asio::buffer(*kept), [kept](boost::system::error_code, std::size_t) {});
  }

  // A read of the peer's, which outlives the wait for it when that fails.
  struct PeerRead {
    std::string bytes;
    bool done = false;
  };

  /// What the peer receives until the channel closes the connection.
  std::string peer_receives_all() {
    const auto read = std::make_shared<PeerRead>();
    asio::async_read(peer, asio::dynamic_buffer(read->bytes),
                     [read](boost::system::error_code, std::size_t) { read->done = true; });
    run_until(io, "the peer's connection is closed", [&] { return read->done; });
    return std::move(read->bytes);
  }
  std::string peer_receives(std::size_t size) {
    const auto read = std::make_shared<PeerRead>();
    read->bytes.resize(size);
    asio::async_read(peer, asio::buffer(read->bytes),
                     [read](boost::system::error_code failure, std::size_t) {
                       CHECK_FALSE(failure);
                       read->done = true;
                     });
    run_until(io, "the peer has received its bytes", [&] { return read->done; });
    return std::move(read->bytes);
  }
  void wait_for_heard(std::size_t count) {
    run_until(io, std::to_string(count) + " lines and frames are heard",
              [&] { return heard.size() >= count; });
  }
  Error end() {
    run_until(io, "the channel has ended", [&] { return error.has_value(); });
    return *error;
  }

  asio::io_context io{1};
  tcp::socket peer{io};
  std::vector<std::string> heard;  // lines and frames, in the order in which they came
  std::optional<Error> error;
  TunnelDouble tunnel{heard};
  std::shared_ptr<Channel> channel;
  bool tunnelled = false;
};

using Heard = std::vector<std::string>;

TEST_CASE_METHOD(ChannelFixture, "lines arrive whole and in order, however they were cut") {
  listen();
  peer_sends("one\ntwo\nth");
  wait_for_heard(2);
  CHECK(heard == Heard{"line one", "line two"});
  peer_sends("re");
  io.restart();
  io.poll();
  CHECK(heard.size() == 2);
  peer_sends("e\n\nfive\n");
  wait_for_heard(5);
  CHECK(heard == Heard{"line one", "line two", "line three", "line ", "line five"});
}

TEST_CASE_METHOD(ChannelFixture, "lines that came before the end are heard, half a line is not") {
  peer_sends("last words\nhalf");
  peer.shutdown(tcp::socket::shutdown_send);
  listen();
  const Error gone = end();
  CHECK(gone.kind == Error::Kind::kUnavailable);
  CHECK(gone.message == "connection closed");
  CHECK(heard == Heard{"line last words"});
}

TEST_CASE_METHOD(ChannelFixture, "a line has at most kLineBytesMax bytes with its newline") {
  listen();
  const std::string longest(kLineBytesMax - 1, 'x');
  peer_sends_all(longest + "\n" + longest + "\nshort\n");
  wait_for_heard(3);
  CHECK((heard[0] == "line " + longest));
  CHECK((heard[1] == "line " + longest));
  CHECK(heard[2] == "line short");
  SECTION("one more is an error") {
    peer_sends_all(longest + "x\n");
    const Error refused = end();
    CHECK(refused.kind == Error::Kind::kInvalid);
    CHECK(refused.message == "a line longer than 393216 bytes");
  }
  SECTION("one more is an error before the newline has come") {
    peer_sends_all(longest + "x");
    CHECK(end().message == "a line longer than 393216 bytes");
  }
  SECTION("a line that may still end in time is waited for") {
    peer_sends_all(longest);
    peer_sends_all("\n");
    wait_for_heard(4);
    CHECK_FALSE(error.has_value());
  }
}

TEST_CASE_METHOD(ChannelFixture, "lines that are sent leave in order") {
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    channel->send(line);
    expected += line;
  }
  CHECK((peer_receives(expected.size()) == expected));
}

TEST_CASE_METHOD(ChannelFixture, "a peer may leave kOutboxBytesMax unread, and is cut off beyond") {
  channel->send("being written\n");  // only the queue behind it counts
  SECTION("just that many bytes are sent") {
    const std::string most(kOutboxBytesMax, 'x');
    channel->send(most);
    CHECK((peer_receives(14 + most.size()) == "being written\n" + most));
  }
  SECTION("one more closes the connection") {
    channel->send(std::string(kOutboxBytesMax, 'x'));
    channel->send("y");
    CHECK(peer_receives_all().size() < kOutboxBytesMax);
  }
}

TEST_CASE_METHOD(ChannelFixture, "without memory for what it sends, a channel closes") {
  constexpr std::size_t kMuch = 1 << 20;
  listen();
  SECTION("for a line") {
    const std::string line(kMuch, 'x');
    const NoMemoryBeyond little{kMuch / 2};
    channel->send(line);
    CHECK(end().message == "connection closed");
  }
  SECTION("for the frames of a tunnel, on a turn of the event loop") {
    carry();
    tunnel.frames = std::string(kMuch, 'x');
    channel->frames_wait();
    const NoMemoryBeyond little{kMuch / 2};
    CHECK(end().message == "connection closed");
  }
}

TEST_CASE_METHOD(ChannelFixture, "close_when_sent sends everything that is queued, and no more") {
  const std::string big(kOutboxBytesMax - 1, 'x');
  channel->send("first\n");
  channel->send(big);
  channel->close_when_sent();
  channel->send("too late\n");
  CHECK((peer_receives_all() == "first\n" + big));
}

TEST_CASE_METHOD(ChannelFixture, "close_when_sent closes when the peer does not take it in time") {
  channel->send("first\n");
  channel->send(std::string(kOutboxBytesMax - 1, 'x'));
  listen();
  channel->close_when_sent(std::chrono::milliseconds{20});
  CHECK(end().message == "connection closed");  // and the peer has read nothing
}

TEST_CASE_METHOD(ChannelFixture, "nothing waits for the deadline once the last words are sent") {
  channel->send("last\n");
  channel->close_when_sent(std::chrono::hours{1});
  CHECK(peer_receives_all() == "last\n");
  io.restart();
  io.run();  // for an hour, if the timer still ran
}

TEST_CASE_METHOD(ChannelFixture, "lines may be limited further, and for some time only") {
  channel->limit_lines(10);
  peer_sends(std::string(9, 'x') + "\n");
  listen();
  wait_for_heard(1);
  channel->limit_lines(20);
  peer_sends(std::string(19, 'x') + "\n" + std::string(20, 'x') + "\n");
  CHECK(end().message == "a line longer than 20 bytes");
  CHECK(heard.size() == 2);
}

TEST_CASE_METHOD(ChannelFixture, "close_when_sent closes at once when nothing is queued") {
  listen();
  channel->close_when_sent();
  CHECK(peer_receives_all().empty());
  CHECK(end().message == "connection closed");
}

TEST_CASE_METHOD(ChannelFixture, "a channel that was closed sends nothing") {
  channel->close();
  channel->send("too late\n");
  CHECK(peer_receives_all().empty());
}

TEST_CASE_METHOD(ChannelFixture, "a line goes before the frames that wait") {
  carry();
  const std::string frame = bytes_of(TunnelData{1, "bytes"});
  tunnel.frames = frame;
  channel->frames_wait();
  channel->send("a line\n");
  CHECK(peer_receives(7 + frame.size()) == "a line\n" + frame);
}

TEST_CASE_METHOD(ChannelFixture, "frames that come up while others are written are sent next") {
  carry();
  const std::string frame = bytes_of(TunnelData{1, "bytes"});
  tunnel.frames = frame;
  channel->frames_wait();
  CHECK(peer_receives(frame.size()) == frame);
  tunnel.frames = frame;
  channel->send("a line\n");
  channel->frames_wait();
  CHECK(peer_receives(7 + frame.size()) == "a line\n" + frame);
  tunnel.frames = frame;
  channel->frames_wait();
  CHECK(peer_receives(frame.size()) == frame);
}

TEST_CASE_METHOD(ChannelFixture, "a channel that closes takes no more frames") {
  carry();
  channel->send("a line\n");
  channel->send("the last\n");
  channel->close_when_sent();
  tunnel.frames = bytes_of(TunnelClose{1});
  channel->frames_wait();
  CHECK(peer_receives_all() == "a line\nthe last\n");
}

TEST_CASE_METHOD(ChannelFixture,
                 "frames between lines are handed over, and then the tunnel deals with them") {
  carry();
  listen();
  const std::string frame = bytes_of(TunnelData{1, "bytes"});
  peer_sends("one\n" + frame + bytes_of(TunnelOpen{2, 1}) + "two\n" + frame.substr(0, 11));
  wait_for_heard(4);
  // Lines are read by a coroutine, and so may be heard after frames that came behind them.
  CHECK(std::count(heard.begin(), heard.end(), "frame bytes") == 1);
  CHECK(std::count(heard.begin(), heard.end(), "frame") == 1);
  CHECK(tunnel.dealt_with == 2);
  peer_sends(frame.substr(11));
  wait_for_heard(5);
  CHECK(heard.back() == "frame bytes");
  CHECK(tunnel.dealt_with == 3);
}

TEST_CASE_METHOD(ChannelFixture, "a frame that nobody expects ends the connection") {
  SECTION("because there is no tunnel") {
    listen();
    peer_sends(bytes_of(TunnelClose{1}));
    const Error refused = end();
    CHECK(refused.kind == Error::Kind::kInvalid);
    CHECK(refused.message == "a frame of a tunnel that is not there");
  }
  SECTION("because the tunnel refuses it") {
    carry();
    tunnel.refuses = true;
    listen();
    peer_sends(bytes_of(TunnelClose{1}));
    CHECK(end().message == "the tunnel wants none of it");
  }
  SECTION("because it is malformed, and what came before is still heard") {
    carry();
    listen();
    peer_sends("a line\n" + bytes_of(TunnelData{1, ""}));
    CHECK_THAT(end().message, contains("has 0 bytes"));
    CHECK(heard == Heard{"line a line"});
  }
}

TEST_CASE_METHOD(
    ChannelFixture,
    "a line that a malformed frame follows is heard once, though it had begun before") {
  carry();
  listen();
  peer_sends("first\na li");
  wait_for_heard(1);
  peer_sends("ne\n" + bytes_of(TunnelData{1, ""}));
  CHECK_THAT(end().message, contains("has 0 bytes"));
  CHECK(heard == Heard{"line first", "line a line"});
}

TEST_CASE_METHOD(ChannelFixture, "a channel tells its peer's address in numbers") {
  CHECK(channel->address() == asio::ip::address_v4::loopback());
  CHECK(channel->peer() == endpoint_text(peer.local_endpoint()));
}

}  // namespace
}  // namespace ddprun
