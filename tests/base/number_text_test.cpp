#include "base/number_text.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a duration is written in seconds, without zeros that say nothing") {
  CHECK(seconds_text(5'000ms) == "5 s");
  CHECK(seconds_text(2'500ms) == "2.5 s");
  CHECK(seconds_text(350ms) == "0.35 s");
  CHECK(seconds_text(3'600'000ms) == "3600 s");
}

}  // namespace
}  // namespace ddprun
