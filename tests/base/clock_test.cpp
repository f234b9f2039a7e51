#include "base/clock.hpp"

#include <ctime>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the time of day is told in milliseconds since 1970") {
  const std::int64_t before = std::int64_t{std::time(nullptr)} * 1000;
  const std::int64_t now = unix_time_ms();
  const std::int64_t after = (std::int64_t{std::time(nullptr)} + 1) * 1000;
  CHECK(before <= now);
  CHECK(now <= after);
}

}  // namespace
}  // namespace ddprun
