#include "rendezvous/tunnel/tunnel_window.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

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
