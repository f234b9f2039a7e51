#include "rendezvous/wire/tunnel_frame.hpp"

#include "base/match.hpp"
#include "rendezvous/tunnel/tunnel_outbox.hpp"
#include "rendezvous/tunnel/tunnel_window.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

std::string frame(const TunnelFrame& written) {
  std::string bytes;
  write_frame(bytes, written);
  return bytes;
}

std::string told(const TunnelFrame& read) {
  return match(
      read,
      [](const TunnelOpen& f) {
        return "open " + std::to_string(f.client) + " in round " + std::to_string(f.round);
      },
      [](const TunnelData& f) {
        return "client " + std::to_string(f.client) + ": " + std::string{f.bytes};
      },
      [](const TunnelCredit& f) {
        return std::to_string(f.bytes) + " more of " + std::to_string(f.client);
      },
      [](const TunnelClose& f) { return "close " + std::to_string(f.client); });
}

std::string told(std::string_view bytes) {
  const auto read = read_frame(bytes);
  REQUIRE(read.has_value());
  if (read->bytes == 0) return "more";
  CHECK(read->bytes == bytes.size());
  return told(read->frame);
}

std::string refusal(std::string_view bytes) {
  const auto read = read_frame(bytes);
  REQUIRE(read.has_error());
  return read.error().message;
}

const TunnelClientId kLast = 0xffff'ffff;

}  // namespace

TEST_CASE("a frame is read as it was written") {
  CHECK(told(frame(TunnelOpen{7, 3})) == "open 7 in round 3");
  CHECK(told(frame(TunnelData{kLast, "text"})) == "client 4294967295: text");
  CHECK(told(frame(TunnelCredit{7, 65'536})) == "65536 more of 7");
  CHECK(told(frame(TunnelClose{0x01020304})) == "close 16909060");
  const std::string longest(kFramePayloadBytesMax, 'x');
  CHECK(told(frame(TunnelData{1, longest})) == "client 1: " + longest);
}

TEST_CASE("a frame on the wire is nine bytes and its payload") {
  CHECK(frame(TunnelData{0x01020304, "ab"}) == std::string{"\x02\x04\x03\x02\x01\x02\x00\x00\x00"
                                                           "ab",
                                                           11});
}

TEST_CASE("a frame that has not all come asks for more") {
  for (const TunnelFrame& written :
       {TunnelFrame{TunnelOpen{7, 3}}, TunnelFrame{TunnelData{1, "text"}},
        TunnelFrame{TunnelClose{2}}}) {
    const std::string bytes = frame(written);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      CHECK(told(std::string_view{bytes}.substr(0, i)) == "more");
  }
}

TEST_CASE("what follows a frame is left alone") {
  const auto read = read_frame(frame(TunnelData{1, "text"}) + "{\"type\":\"beat\"}\n");
  REQUIRE(read.has_value());
  CHECK(read->bytes == 13);
}

TEST_CASE("bytes that are no frame are refused as soon as that shows") {
  CHECK_THAT(refusal("\x05"), contains("no known kind"));
  CHECK_THAT(refusal(std::string(1, '\0')), contains("no known kind"));
  CHECK_THAT(refusal(frame(TunnelData{1, ""})), contains("has 0 bytes"));
  std::string too_long = frame(TunnelData{1, std::string(kFramePayloadBytesMax, 'x')});
  too_long[5] = 1;
  CHECK_THAT(refusal(too_long.substr(0, kFrameHeaderBytes)), contains("has 65537 bytes"));
  std::string close = frame(TunnelClose{1});
  close[8] = 1;
  CHECK_THAT(refusal(close), contains("closes a client with 16777216"));
}

TEST_CASE("lines and frames begin differently") {
  CHECK_FALSE(begins_frame('{'));
  CHECK_FALSE(begins_frame('\n'));
  CHECK(begins_frame(frame(TunnelOpen{1, 1}).front()));
  CHECK(begins_frame(frame(TunnelClose{1}).front()));
}

TEST_CASE("a client may send what was granted, and no more until some of it is dealt with") {
  TunnelWindow here;
  TunnelWindow there;
  CHECK(here.room() == kTunnelWindowBytes);
  here.sent(kTunnelWindowBytes);
  CHECK(here.room() == 0);
  CHECK(there.received(kTunnelWindowBytes).has_value());
  CHECK(there.received(1).has_error());
  CHECK(there.dealt_with(kTunnelWindowBytes / 4 - 1) == 0);  // not every few bytes
  const std::uint32_t credit = there.dealt_with(1);
  CHECK(credit == kTunnelWindowBytes / 4);
  CHECK(here.granted(credit).has_value());
  CHECK(here.room() == credit);
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
  CHECK(window.room() == kTunnelWindowBytes);
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
  CHECK(out == frame(TunnelOpen{1, 1}) + frame(TunnelData{1, "x"}));
}

TEST_CASE("short frames that nobody takes are noticed") {
  TunnelOutbox outbox;
  for (TunnelClientId client = 0; !outbox.overfull(); ++client) {
    REQUIRE(client < 1'000'000);
    outbox.say(TunnelClose{client});
  }
}

}  // namespace ddprun
