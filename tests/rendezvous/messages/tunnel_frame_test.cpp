#include "rendezvous/messages/tunnel_frame.hpp"

#include "base/match.hpp"
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

const TunnelClientId kLastClient = 0xffff'ffff;

}  // namespace

TEST_CASE("a frame is read as it was written") {
  CHECK(told(frame(TunnelOpen{7, 3})) == "open 7 in round 3");
  CHECK(told(frame(TunnelData{kLastClient, "text"})) == "client 4294967295: text");
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

}  // namespace ddprun
