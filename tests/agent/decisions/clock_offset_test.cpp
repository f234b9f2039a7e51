#include "agent/decisions/contact.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("half of a round trip lies before the peer's time") {
  ClockOffset clock;
  CHECK_FALSE(clock.offset_us());
  clock.heard(1000, 51'200, 1400);
  CHECK(clock.offset_us() == 50'000);
}

TEST_CASE("the answer that came soonest counts") {
  ClockOffset clock;
  clock.heard(1000, 50'000, 9000);  // one of the ways took long
  clock.heard(10'000, 60'050, 10'100);
  clock.heard(20'000, 74'000, 28'000);
  CHECK(clock.offset_us() == 50'000);
}

TEST_CASE("an old answer does not count for ever, because clocks drift apart") {
  ClockOffset clock;
  clock.heard(0, 1000, 2);
  for (std::size_t i = 0; i < ClockOffset::kAnswersMax; ++i) clock.heard(100, 5150, 200);
  CHECK(clock.offset_us() == 5000);
}

TEST_CASE("a clock that is behind has an offset below zero, and nonsense is passed over") {
  ClockOffset clock;
  clock.heard(9000, 100, 8000);
  CHECK_FALSE(clock.offset_us());
  clock.heard(9000, 100, 9200);
  CHECK(clock.offset_us() == -9000);
}

}  // namespace
}  // namespace ddprun
