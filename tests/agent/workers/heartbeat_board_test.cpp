#include "agent/workers/heartbeat_board.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>

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

TEST_CASE("the agent reads what a worker in Python has told") {
  auto board = HeartbeatBoard::create(3);
  REQUIRE(board.has_value());
  const auto python = [&](const std::string& calls) {
    const std::string command = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" DDPRUN_PYTHON_MODULE
                                "' DDPRUN_HEARTBEAT=" +
                                sdk::to_string({board->path(), 2}) +
                                " '" DDPRUN_PYTHON "' -c 'import ddprun; " + calls + "'";
    REQUIRE(std::system(command.c_str()) == 0);
  };
  const std::int64_t before = sdk::monotonic_ns();
  python("ddprun.heartbeat(6, loss=1.5); ddprun.heartbeat(7, loss=-0.5, samples=10)");
  const auto reading = board->read(2);
  REQUIRE(reading.has_value());
  CHECK(reading->step == 7);
  CHECK(reading->loss == -0.5);
  CHECK(reading->samples_per_second > 0);
  CHECK(reading->time_ns > before);
  CHECK(reading->time_ns < sdk::monotonic_ns());
  CHECK(reading->first_step == 6);
  CHECK(reading->first_time_ns > before);
  CHECK(reading->first_time_ns < reading->time_ns);
  CHECK_FALSE(board->read(1).has_value());
  board->begin_round();
  python("ddprun.heartbeat(2**40)");  // a worker of the next attempt goes on in the same slot
  CHECK(board->read(2)->first_step == std::int64_t{1} << 40);
  CHECK(board->read(2)->step == std::int64_t{1} << 40);
  CHECK(std::isnan(board->read(2)->loss));
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

TEST_CASE("a worker cannot take the board away from its readers") {
  auto board = HeartbeatBoard::create(2);
  REQUIRE(board.has_value());
  const int file = open(board->path().c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK(ftruncate(file, 0) == -1);
  CHECK(ftruncate(file, 1'000'000) == -1);
  close(file);
  CHECK_FALSE(board->read(1).has_value());
}

TEST_CASE("a heartbeat is described in words") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  CHECK(describe({120, 0.31, 1234.4, 10 * kSecond}, 10 * kSecond + 400'000'000) ==
        "step 120, loss 0.31, 1,234 samples/s, 0.4 s before");
  CHECK(describe({120, sdk::Heartbeat::kNoLoss, 0, 0}, 61 * kSecond) == "step 120, 61.0 s before");
  CHECK(describe({1, 2, 1234567, 0}, 0) == "step 1, loss 2, 1,234,567 samples/s, 0.0 s before");
  CHECK(describe({1, 2, 999, 0}, 0) == "step 1, loss 2, 999 samples/s, 0.0 s before");
}

}  // namespace
}  // namespace ddprun
