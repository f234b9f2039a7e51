#include "agent/heartbeat_board.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "ddprun/heartbeat.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("the agent reads what each worker has told last") {
  auto board = HeartbeatBoard::create(3);
  REQUIRE(board.has_value());
  sdk::Heartbeat second{sdk::to_string({board->path(), 1})};
  sdk::Heartbeat beyond{sdk::to_string({board->path(), 3})};
  REQUIRE(second.connected());
  CHECK_FALSE(beyond.connected());
  second.beat(7, 10, 0.5);
  CHECK(board->read(1)->step == 7);
  CHECK_FALSE(board->read(0).has_value());
  CHECK_FALSE(board->read(3).has_value());
  CHECK_FALSE(board->read(-1).has_value());

  const HeartbeatBoard moved = std::move(*board);
  CHECK(moved.read(1)->loss == 0.5);
}

TEST_CASE("every round has a board of its own") {
  auto board = HeartbeatBoard::create(1);
  REQUIRE(board.has_value());
  sdk::Heartbeat straggler{sdk::to_string({board->path(), 0})};
  straggler.beat(1);
  auto next = HeartbeatBoard::create(1);
  REQUIRE(next.has_value());
  *board = std::move(*next);
  straggler.beat(2);
  CHECK_FALSE(board->read(0).has_value());
}

TEST_CASE("a worker cannot take the board away from who reads it") {
  auto board = HeartbeatBoard::create(2);
  REQUIRE(board.has_value());
  const int file = open(board->path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK(ftruncate(file, 0) == -1);
  CHECK(ftruncate(file, 1'000'000) == -1);
  close(file);
  CHECK_FALSE(board->read(1).has_value());
}

TEST_CASE("a heartbeat is told in words") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  CHECK(describe({120, 0.31, 1234.4, 10 * kSecond}, 10 * kSecond + 400'000'000) ==
        "step 120, loss 0.31, 1,234 samples/s, 0.4 s before");
  CHECK(describe({120, sdk::Heartbeat::kNoLoss, 0, 0}, 61 * kSecond) == "step 120, 61.0 s before");
  CHECK(describe({1, 2, 1234567, 0}, 0) == "step 1, loss 2, 1,234,567 samples/s, 0.0 s before");
  CHECK(describe({1, 2, 999, 0}, 0) == "step 1, loss 2, 999 samples/s, 0.0 s before");
}

}  // namespace
}  // namespace ddprun
