#include "worker_sdk/contract/heartbeat_slot.hpp"

#include <memory>
#include <thread>

#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

TEST_CASE("an address is read back as it was written") {
  const auto address = parse_heartbeat_address(to_string({"/proc/1/fd/2", 17}));
  REQUIRE(address.has_value());
  CHECK(address->path == "/proc/1/fd/2");
  CHECK(address->slot == 17);
  for (const char* wrong : {"", ":", ":1", "/a", "/a:", "/a:x", "/a:1x", "/a:-1"})
    CHECK_FALSE(parse_heartbeat_address(wrong).has_value());
}

TEST_CASE("a reader never sees half of one heartbeat and half of another") {
  const auto slot = std::make_unique<HeartbeatSlot>();
  constexpr std::int64_t kBeats = 200'000;
  std::thread writer{[&] {
    for (std::int64_t i = 1; i <= kBeats; ++i)
      slot->write({i, static_cast<double>(i), static_cast<double>(i), i});
  }};
  std::int64_t last = 0;
  bool whole = true;
  while (last < kBeats && whole) {
    const auto seen = slot->read();
    if (!seen) continue;
    whole = static_cast<double>(seen->step) == seen->loss &&
            seen->loss == seen->samples_per_second && seen->step == seen->time_ns &&
            seen->step >= last;
    last = seen->step;
  }
  writer.join();
  CHECK(whole);
}

TEST_CASE("the first heartbeat of each round is kept, where an agent counts rounds") {
  const auto slot = std::make_unique<HeartbeatSlot>();
  slot->write({.step = 1, .time_ns = 10});
  CHECK(slot->read()->first_step == -1);
  for (const std::int64_t first : {2, 30}) {
    slot->begin_round();
    CHECK(slot->read()->first_step == -1);
    for (const std::int64_t step : {first, first + 1})
      slot->write({.step = step, .time_ns = 10 * step});
    CHECK(slot->read()->step == first + 1);
    CHECK(slot->read()->first_step == first);
    CHECK(slot->read()->first_time_ns == 10 * first);
  }
}

}  // namespace
}  // namespace ddprun::sdk
