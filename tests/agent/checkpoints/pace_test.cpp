#include "agent/checkpoints/pace.hpp"

#include <chrono>
#include <future>
#include <thread>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMinutesWorth = kPacedBytesPerSecond * 60;  // under 2^64 / 10^9

/// A thread that waits in spend(); the test does not go on before it does.
std::future<bool> begin_spending(Pace& pace, std::size_t bytes) {
  const std::size_t before = pace.spent();
  auto done = std::async(std::launch::async, [&pace, bytes] { return pace.spend(bytes); });
  while (pace.spent() < before + bytes) std::this_thread::yield();
  return done;
}

bool ends(const std::future<bool>& done) { return done.wait_for(30s) == std::future_status::ready; }

TEST_CASE("who hurries waits no longer") {
  Pace pace;
  auto done = begin_spending(pace, kMinutesWorth);
  pace.hurry(true);
  CHECK(ends(done));
  CHECK(done.get());
}

TEST_CASE("work that is to end waits no longer, then and later") {
  Pace pace;
  auto done = begin_spending(pace, kMinutesWorth);
  pace.cancel();
  CHECK(ends(done));
  CHECK_FALSE(done.get());
  CHECK_FALSE(pace.spend(1));
  pace.hurry(true);
  CHECK_FALSE(pace.spend(1));
}

TEST_CASE("what was read in a hurry is not waited for later") {
  Pace pace;
  pace.hurry(true);
  for (int i = 0; i < 60; ++i) REQUIRE(pace.spend(kMinutesWorth));
  pace.hurry(false);
  auto done = begin_spending(pace, 1);
  CHECK(ends(done));
  pace.cancel();
  CHECK(pace.spent() == 60 * kMinutesWorth + 1);
}

}  // namespace
}  // namespace ddprun
