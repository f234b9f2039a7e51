#include "agent/spawn_pool.hpp"

#include <atomic>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("SpawnPool does every piece of work once, again and again") {
  SpawnPool pool{4};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::atomic<int>> calls(50);
    pool.for_each(50, [&](int i) { ++calls[i]; });
    for (const auto& count : calls) CHECK(count == 1);
  }
  pool.for_each(0, [](int) { FAIL("there is no work"); });
}

TEST_CASE("SpawnPool works on several threads at once") {
  SpawnPool pool{3};
  std::atomic<int> there = 0;
  // Each waits for the others: on fewer threads this would never end.
  pool.for_each(3, [&](int) {
    ++there;
    while (there < 3) std::this_thread::yield();
  });
  CHECK(there == 3);
}

TEST_CASE("SpawnPool without work has no threads to wait for") {
  const SpawnPool pool{0};
  SUCCEED("it ended");
}

}  // namespace
}  // namespace ddprun
