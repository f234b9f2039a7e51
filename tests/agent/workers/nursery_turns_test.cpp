#include "agent/workers/nursery_turns.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Pids = std::vector<pid_t>;

TEST_CASE("one start has the turn at a time") {
  NurseryTurns turns;
  CHECK(turns.take());
  CHECK_FALSE(turns.take());
  turns.give_back();
  CHECK(turns.take());
}

TEST_CASE("a start takes what was forked for it and delivered") {
  NurseryTurns turns;
  const std::size_t start = turns.begin(2);
  CHECK(turns.forked() == Pids{-1, -1});
  turns.hear(Forked{start, 1, 42});
  turns.hear(Forked{start, 0, 41});
  CHECK(turns.fate(false) == ForkedFate::kStartedAnew);
  turns.hear(Delivered{start});
  CHECK(turns.forked() == Pids{41, 42});
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

TEST_CASE("an answer to another start is not for this one, however late or often it comes") {
  NurseryTurns turns;
  const std::size_t before = turns.begin(1);
  turns.hear(Forked{before, 0, 40});
  const std::size_t start = turns.begin(1);
  turns.hear(Forked{before, 0, 40});
  turns.hear(Delivered{before});
  CHECK(turns.forked() == Pids{-1});
  CHECK_FALSE(turns.is_delivered());
  turns.hear(Forked{start, 0, 41});
  turns.hear(Delivered{start});
  turns.hear(Delivered{before});
  turns.hear(Forked{before, 0, 40});
  CHECK(turns.forked() == Pids{41});
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

TEST_CASE("an answer about a worker that was not ordered is not heard") {
  NurseryTurns turns;
  const std::size_t start = turns.begin(1);
  turns.hear(Forked{start, 1, 41});
  CHECK(turns.forked() == Pids{-1});
}

TEST_CASE("what nobody wants any more is killed, delivered or not") {
  NurseryTurns turns;
  const std::size_t start = turns.begin(1);
  CHECK(turns.fate(true) == ForkedFate::kKilled);
  turns.hear(Forked{start, 0, 41});
  turns.hear(Delivered{start});
  CHECK(turns.fate(true) == ForkedFate::kKilled);
}

TEST_CASE("a start of no workers is over at once") {
  NurseryTurns turns;
  turns.begin(0);
  CHECK(turns.fate(false) == ForkedFate::kTaken);
}

}  // namespace
}  // namespace ddprun
