#include "base/log_gate.hpp"

#include "base/gated_log.hpp"
#include "tests/support/captured_log.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1h};

TEST_CASE("one line passes a second") {
  LogGate gate;
  CHECK(gate.pass(kStart) == 0U);
  CHECK_FALSE(gate.pass(kStart).has_value());
  CHECK_FALSE(gate.pass(kStart + 999ms).has_value());
  CHECK(gate.pass(kStart + 1s).has_value());
}

TEST_CASE("the next line that passes says how many were left out, once") {
  LogGate gate;
  REQUIRE(gate.pass(kStart) == 0U);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(gate.pass(kStart + 500ms).has_value());
  CHECK(gate.pass(kStart + 1s) == 3U);
  CHECK(gate.pass(kStart + 2s) == 0U);
}

TEST_CASE("a line that is left out does not put off the next one") {
  LogGate gate;
  REQUIRE(gate.pass(kStart) == 0U);
  CHECK_FALSE(gate.pass(kStart + 900ms).has_value());
  CHECK(gate.pass(kStart + 1100ms) == 1U);
}

TEST_CASE("the first line passes, however young the clock is") {
  LogGate gate;
  CHECK(gate.pass(TimePoint{} + 1ms) == 0U);
}

TEST_CASE("a gated log writes the first of many lines") {
  const CapturedLog log;
  GatedLog refusals{log::Level::kWarning};
  for (int i = 1; i <= 100; ++i) refusals.say("refused number {}", i);
  CHECK(log.text() == "warning: refused number 1\n");
}

}  // namespace
}  // namespace ddprun
