#include "ddprun/heartbeat.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include "tests/support/catch.hpp"
#include "worker_sdk/contract/heartbeat_slot.hpp"

namespace ddprun::sdk {
namespace {

/// What the agent does: memory of two slots.
class Board {
 public:
  Board() : fd_{memfd_create("test", MFD_CLOEXEC)} {
    REQUIRE(ftruncate(fd_, 2 * sizeof(HeartbeatSlot)) == 0);
    slots_ = static_cast<HeartbeatSlot*>(
        mmap(nullptr, 2 * sizeof(HeartbeatSlot), PROT_READ, MAP_SHARED, fd_, 0));
  }
  ~Board() {
    munmap(slots_, 2 * sizeof(HeartbeatSlot));
    close(fd_);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  std::string address(std::size_t slot) const {
    return to_string({"/proc/self/fd/" + std::to_string(fd_), slot});
  }
  std::optional<HeartbeatReading> read(int slot) const { return slots_[slot].read(); }

 private:
  int fd_;
  HeartbeatSlot* slots_;
};

TEST_CASE("a heartbeat arrives in its own slot") {
  const Board board;
  Heartbeat heartbeat{board.address(1)};
  REQUIRE(heartbeat.connected());
  CHECK_FALSE(board.read(1).has_value());
  const std::int64_t before = monotonic_ns();
  heartbeat.beat(120, 64, 0.31);
  const auto reading = board.read(1);
  REQUIRE(reading.has_value());
  CHECK(reading->step == 120);
  CHECK(reading->loss == 0.31);
  CHECK(reading->samples_per_second == 0);  // nobody knows how long the first step took
  CHECK(reading->steps == 0);
  CHECK(reading->time_ns >= before);
  CHECK(reading->time_ns <= monotonic_ns());
  CHECK_FALSE(board.read(0).has_value());
  heartbeat.set_total_steps(1000);
  heartbeat.beat(121, 64);
  CHECK(board.read(1)->step == 121);
  CHECK(board.read(1)->samples_per_second > 0);
  CHECK(board.read(1)->steps == 1000);
  CHECK(std::isnan(board.read(1)->loss));
}

TEST_CASE("samples per second are those of the last full second") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const Board board;
  Heartbeat heartbeat{board.address(0)};
  const std::int64_t begin = monotonic_ns();
  const auto rate = [&] { return board.read(0)->samples_per_second; };
  heartbeat.beat_at(begin, 1, 1'000, Heartbeat::kNoLoss);
  heartbeat.beat_at(begin + kSecond / 2, 2, 1'000, Heartbeat::kNoLoss);
  CHECK(rate() == 2'000);
  heartbeat.beat_at(begin + kSecond, 3, 500, Heartbeat::kNoLoss);
  CHECK(rate() == 1'500);
  heartbeat.beat_at(begin + 3 * kSecond, 4, 40, Heartbeat::kNoLoss);
  CHECK(rate() == 20);
}

TEST_CASE("without an agent a heartbeat goes nowhere") {
  const Board board;
  for (const std::optional<std::string>& address :
       {std::optional<std::string>{}, {""}, {"/nonexistent:0"}, {board.address(2)}, {"nonsense"}}) {
    Heartbeat heartbeat{address};
    CHECK_FALSE(heartbeat.connected());
    heartbeat.beat(1, 2, 3);
  }
}

}  // namespace
}  // namespace ddprun::sdk
