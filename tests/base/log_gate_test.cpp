#include "base/log_gate.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr int kLinesOfAWindow = 20;

const TimePoint kStart{1h};

// Lets through all lines that a window allows.
void fill_window(LogGate& gate, TimePoint now) {
  for (int i = 0; i < kLinesOfAWindow; ++i) REQUIRE(gate.pass(now) == 0U);
}

TEST_CASE("a window of ten seconds lets twenty lines through") {
  LogGate gate;
  fill_window(gate, kStart);
  CHECK_FALSE(gate.pass(kStart).has_value());
  CHECK_FALSE(gate.pass(kStart + 9'999ms).has_value());
  CHECK(gate.pass(kStart + 10s).has_value());
}

TEST_CASE("the first line of the next window says how many were left out, once") {
  LogGate gate;
  fill_window(gate, kStart);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(gate.pass(kStart + 1s).has_value());
  CHECK(gate.pass(kStart + 10s) == 3U);
  CHECK(gate.pass(kStart + 10s) == 0U);
}

TEST_CASE("a window begins with its first line, not at the end of the one before") {
  LogGate gate;
  fill_window(gate, kStart);
  REQUIRE(gate.pass(kStart + 15s) == 0U);
  for (int i = 1; i < kLinesOfAWindow; ++i) REQUIRE(gate.pass(kStart + 24s) == 0U);
  CHECK_FALSE(gate.pass(kStart + 24s).has_value());
  CHECK(gate.pass(kStart + 25s) == 1U);
}

}  // namespace
}  // namespace ddprun
