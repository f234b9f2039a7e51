#include "base/clock.hpp"

#include <ctime>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the time of day is given in milliseconds since 1970") {
  // time() has a clock of its own, which may be a tick behind.
  const auto precise_ms = [] {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  };
  const std::int64_t before = precise_ms();
  const std::int64_t now = unix_time_ms();
  const std::int64_t after = precise_ms();
  CHECK(before <= now);
  CHECK(now <= after);
}

}  // namespace
}  // namespace ddprun
