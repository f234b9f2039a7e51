#include "rendezvous/tunnel/tunnel_flow.hpp"

#include <vector>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string frame_of(const TunnelFrame& frame) {
  std::string bytes;
  write_frame(bytes, frame);
  return bytes;
}

TEST_CASE("clients with much to send take turns with those that have little") {
  TunnelOutbox outbox;
  std::string turns;
  int left_of_big = 5;
  const auto take_turn = [&](TunnelClientId client, std::size_t, std::string& out) {
    turns += std::to_string(client) + " ";
    out += std::string(100, 'x');
    return client == 1 && --left_of_big > 0;
  };
  outbox.has_bytes(1);
  outbox.has_bytes(2);
  outbox.has_bytes(3);
  std::string out;
  outbox.fill(out, 1000, take_turn);
  CHECK(turns == "1 2 3 1 1 1 1 ");
  CHECK(outbox.empty());
}

TEST_CASE("a write holds about as much as it may, the next one goes on from there") {
  TunnelOutbox outbox;
  std::vector<std::size_t> allowed;
  const auto take_turn = [&](TunnelClientId, std::size_t bytes_max, std::string& out) {
    allowed.push_back(bytes_max);
    out += std::string(400, 'x');
    return true;
  };
  outbox.has_bytes(1);
  std::string out = "{a line}\n";
  outbox.fill(out, 1000, take_turn);
  CHECK(allowed == std::vector<std::size_t>{991, 591, 191});
  CHECK_FALSE(outbox.empty());
}

TEST_CASE("short frames go before all data") {
  TunnelOutbox outbox;
  outbox.has_bytes(1);
  outbox.say(TunnelOpen{1, 1});
  std::string out;
  outbox.fill(out, 1000, [](TunnelClientId client, std::size_t, std::string& frames) {
    write_frame(frames, TunnelData{client, "x"});
    return false;
  });
  CHECK(out == frame_of(TunnelOpen{1, 1}) + frame_of(TunnelData{1, "x"}));
}

TEST_CASE("short frames that nobody takes are noticed") {
  TunnelOutbox outbox;
  const std::string frame = frame_of(TunnelClose{1});
  const std::size_t most = TunnelOutbox::kShortFramesBytesMax / frame.size();
  for (std::size_t i = 0; i < most; ++i) outbox.say(TunnelClose{1});
  CHECK_FALSE(outbox.overfull());
  outbox.say(TunnelClose{1});
  CHECK(outbox.overfull());
  std::string out;
  outbox.fill(out, 1, [](TunnelClientId, std::size_t, std::string&) { return false; });
  CHECK(out.size() == (most + 1) * frame.size());
  CHECK_FALSE(outbox.overfull());
}

TEST_CASE("a turn is never longer than a frame's payload") {
  TunnelOutbox outbox;
  outbox.has_bytes(1);
  std::string out;
  outbox.fill(out, 10 * kFramePayloadBytesMax,
              [](TunnelClientId, std::size_t payload_max, std::string&) {
                CHECK(payload_max == kFramePayloadBytesMax);
                return false;
              });
}

TEST_CASE("a client may send what was granted, and no more until some of it is dealt with") {
  TunnelWindow here;
  TunnelWindow there;
  CHECK(here.credit() == kTunnelWindowBytes);
  here.sent(kTunnelWindowBytes);
  CHECK(here.credit() == 0);
  CHECK(there.received(kTunnelWindowBytes).has_value());
  CHECK(there.received(1).has_error());
  CHECK(there.dealt_with(kTunnelWindowBytes / 4 - 1) == 0);  // not every few bytes
  const std::uint32_t credit = there.dealt_with(1);
  CHECK(credit == kTunnelWindowBytes / 4);
  CHECK(here.granted(credit).has_value());
  CHECK(here.credit() == credit);
  CHECK(there.received(credit).has_value());
  CHECK(there.received(1).has_error());
}

TEST_CASE("credit for what was never sent is refused") {
  TunnelWindow window;
  CHECK(window.granted(1).has_error());
  window.sent(10);
  CHECK(window.granted(0).has_error());
  CHECK(window.granted(11).has_error());
  CHECK(window.granted(10).has_value());
  CHECK(window.credit() == kTunnelWindowBytes);
}

TEST_CASE("small requests cost no credit frames until they are many") {
  TunnelWindow window;
  int frames = 0;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(window.received(100).has_value());
    frames += window.dealt_with(100) > 0 ? 1 : 0;
  }
  CHECK(frames == 15);  // a million bytes, by a quarter of a window
}

}  // namespace
}  // namespace ddprun
