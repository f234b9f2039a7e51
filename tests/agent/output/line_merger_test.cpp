#include "agent/output/line_merger.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Shown = std::vector<std::string>;

/// Workers with the ranks 0, 1, ... that all have spoken before, so that none is only starting.
class Node {
 public:
  explicit Node(int workers, bool started = true) {
    for (int rank = 0; rank < workers; ++rank) {
      merger.expect({rank, rank, 1000 + rank}, false);
      merger.expect({rank, rank, 1000 + rank}, true);
    }
    if (!started) return;
    for (int rank = 0; rank < workers; ++rank) say(rank, "hello");
    shown.clear();
  }

  void say(int rank, const std::string& text, const std::string& end = "\n", bool err = false) {
    take(merger.say(rank, {err, text, end, {}}, now));
  }
  void say_all(const std::string& text) {
    for (int rank = 0; rank < 4; ++rank) say(rank, text);
  }
  void pass(Clock::duration time) {
    const TimePoint end = now + time;
    while (merger.next_tick().value_or(end + 1ms) <= end) {
      now = *merger.next_tick();
      take(merger.tick(now));
    }
    now = end;
  }
  void take(const LineMerger::Lines& lines) {
    for (const FoldedLine& line : lines)
      shown.push_back(fmt::format("[{}] {}", format_number_list(line.ranks), line.line.text));
  }
  Shown now_shown() { return std::exchange(shown, {}); }

  LineMerger merger;
  TimePoint now{1h};
  Shown shown;
};

TEST_CASE("what all say is shown once, as soon as the last one has said it") {
  Node node{4};
  for (int rank = 0; rank < 3; ++rank) node.say(rank, "loading shard 3");
  CHECK(node.now_shown().empty());
  node.say(3, "loading shard 3");
  CHECK(node.now_shown() == Shown{"[0-3] loading shard 3"});
  CHECK_FALSE(node.merger.next_tick().has_value());
}

TEST_CASE("a rank that says something else stands out, after the window at the latest") {
  Node node{4};
  for (const int rank : {0, 1, 3}) node.say(rank, "ready");
  node.say(2, "CUDA error");
  node.pass(LineMerger::kWindow - 1ms);
  CHECK(node.now_shown().empty());
  node.pass(1ms);
  CHECK(node.now_shown() == Shown{"[0-1,3] ready", "[2] CUDA error"});
}

TEST_CASE("the lines of a rank stay in their order, however far another one is ahead") {
  Node node{2};
  for (int i = 0; i < 100; ++i) node.say(0, fmt::format("line {}", i));
  for (int i = 0; i < 50; ++i) node.say(1, fmt::format("line {}", i));
  node.say(1, "oops");
  for (int i = 50; i < 100; ++i) node.say(1, fmt::format("line {}", i));
  node.pass(LineMerger::kWindow);
  const Shown shown = node.now_shown();
  REQUIRE(shown.size() >= 101);
  for (std::size_t i = 0; i < 50; ++i) CHECK(shown[i] == fmt::format("[0-1] line {}", i));
  const auto at = [&](const std::string& line) { return std::ranges::find(shown, line); };
  CHECK(at("[1] oops") != shown.end());
}

TEST_CASE("the same line again is another line") {
  Node node{2};
  node.say(0, "tick");
  node.say(0, "tick");
  node.say(1, "tick");
  CHECK(node.now_shown() == Shown{"[0-1] tick"});
  node.say(1, "tick");
  CHECK(node.now_shown() == Shown{"[0-1] tick"});
}

TEST_CASE("what differs only in ranks, times and fractions is one line") {
  Node node{2};
  node.say(0, "09:00:00 rank 0 loss 0.31");
  node.say(1, "09:00:01 rank 1 loss 0.35");
  CHECK(node.now_shown() == Shown{"[0-1] 09:00:00 rank 0-1 loss 0.31..0.35"});
}

TEST_CASE("standard output and error are told apart, and what ends lines, too") {
  Node node{2};
  node.say(0, "x");
  node.say(1, "x", "\n", true);
  node.say(0, "50%", "\r");
  node.say(1, "50%", "\n");
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown() == Shown{"[0] x", "[1] x", "[0] 50%", "[1] 50%"});
}

TEST_CASE("nobody waits for a worker that has ended, or that is not shown") {
  Node node{2};
  node.say(0, "bye");
  node.take(node.merger.ended(1, node.now));
  CHECK(node.now_shown() == Shown{"[0] bye"});
  node.say(0, "alone");
  CHECK(node.now_shown() == Shown{"[0] alone"});
}

TEST_CASE("all that a failing worker said is shown at once, and what stood before it") {
  Node node{4};
  node.say(0, "step 1");
  node.say(1, "Traceback");
  node.say(2, "step 1");
  node.take(node.merger.flush(1, node.now));
  CHECK(node.now_shown() == Shown{"[0,2] step 1", "[1] Traceback"});
}

TEST_CASE("while workers start, a line waits longer for those that have said nothing yet") {
  Node node{3, false};
  node.say(0, "loading");
  node.pass(900ms);
  CHECK(node.now_shown().empty());
  node.say(1, "loading");
  node.say(2, "loading");
  CHECK(node.now_shown() == Shown{"[0-2] loading"});
  node.say(0, "only one");
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown() == Shown{"[0] only one"});
}

TEST_CASE("a rank that never says anything delays others only at the start") {
  Node node{2, false};
  node.say(0, "step 1");
  node.pass(LineMerger::kStartWindow);
  CHECK(node.now_shown() == Shown{"[0] step 1"});
  node.pass(LineMerger::kStart);
  node.say(0, "step 2");
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown() == Shown{"[0] step 2"});
}

TEST_CASE("a late rank that repeats much of what others wrote is shown in one line") {
  Node node{4};
  for (int i = 0; i < 1000; ++i)
    for (const int rank : {0, 1, 2}) node.say(rank, fmt::format("line {}", i));
  node.pass(1300ms);
  CHECK(node.now_shown().size() == 1000);
  for (int i = 0; i < 1000; ++i) node.say(3, fmt::format("line {}", i));
  CHECK(node.now_shown().empty());
  node.pass(LineMerger::kPause);
  CHECK(node.now_shown() == Shown{"[3] (the same 1000 lines as others, up to 1.3 s later)"});
  node.say_all("on");
  CHECK(node.now_shown() == Shown{"[0-3] on"});
}

TEST_CASE("a rank that was ahead alone, and is late then, says nothing new either") {
  Node node{3};
  for (int i = 0; i < 20; ++i) node.say(0, fmt::format("loading shard {}", i));
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown().size() == 20);
  for (int i = 0; i < 40; ++i)
    for (const int rank : {1, 2}) node.say(rank, fmt::format("loading shard {}", i));
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown().size() == 21);  // a line on the 20 that were shown, and 20 lines
  for (int i = 20; i < 40; ++i) node.say(0, fmt::format("loading shard {}", i));
  node.pass(1s);
  CHECK(node.now_shown() == Shown{"[0] (the same 20 lines as others, up to 0.2 s later)"});
}

TEST_CASE("a late rank that catches up with what still waits joins it") {
  Node node{3};
  const auto says = [&](int rank, int from, int to) {
    for (int i = from; i < to; ++i) node.say(rank, fmt::format("loading shard {}", i));
  };
  for (const int rank : {0, 1}) says(rank, 0, 10);
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown().size() == 10);
  for (const int rank : {0, 1}) says(rank, 10, 40);
  says(2, 0, 40);
  node.pass(1s);
  const Shown shown = node.now_shown();
  REQUIRE(shown.size() == 31);
  CHECK(shown[0] == "[2] (the same 10 lines as others, up to 0.2 s later)");
  CHECK(shown[1] == "[0-2] loading shard 10");
  CHECK(shown[30] == "[0-2] loading shard 39");
}

TEST_CASE("a few late lines are shown, too, and shown again only when they are very late") {
  Node node{4};
  for (const int rank : {0, 1, 2}) node.say(rank, "loading");
  node.pass(400ms);
  node.say(3, "loading");
  node.pass(LineMerger::kPause);
  CHECK(node.now_shown() == Shown{"[0-2] loading", "[3] (the same line as others, 0.4 s later)"});
  for (const int rank : {0, 1, 2}) node.say(rank, "saving");
  node.pass(LineMerger::kVeryLate);
  node.say(3, "saving");
  node.pass(LineMerger::kPause);
  CHECK(node.now_shown() == Shown{"[0-2] saving", "[3] saving"});
}

TEST_CASE("late lines come before what their rank says next") {
  Node node{2};
  for (int i = 0; i < 10; ++i) node.say(0, fmt::format("line {}", i));
  node.pass(LineMerger::kWindow);
  node.shown.clear();
  for (int i = 0; i < 10; ++i) node.say(1, fmt::format("line {}", i));
  node.say(1, "CUDA error");
  node.pass(LineMerger::kWindow);
  CHECK(node.now_shown() ==
        Shown{"[1] (the same 10 lines as others, up to 0.2 s later)", "[1] CUDA error"});
}

TEST_CASE("a rank that is late all the time is named now and then") {
  Node node{2};
  Shown of_one;
  for (int i = 0; i < 100; ++i) {
    node.say(0, fmt::format("step {}", i));
    node.pass(300ms);
    node.say(1, fmt::format("step {}", i));
    for (const std::string& line : node.now_shown())
      if (line.starts_with("[1]")) of_one.push_back(line);
  }
  CHECK(of_one.size() >= 4);
  CHECK(of_one.size() <= 8);
}

TEST_CASE("at the end everything is shown") {
  Node node{4};
  node.say(0, "half", "");
  node.say(1, "other");
  node.take(node.merger.flush_all(node.now));
  CHECK(node.now_shown() == Shown{"[0] half", "[1] other"});
  CHECK_FALSE(node.merger.next_tick().has_value());
}

TEST_CASE("no more waits than memory has room for") {
  Node node{2};
  const std::string much(1000, 'x');
  for (std::size_t i = 0; i < 10'000; ++i) node.say(0, much + std::to_string(i));
  CHECK(node.now_shown().size() > 10'000 - LineMerger::kWaitingBytesMax / much.size());
  Node other{2};
  for (std::size_t i = 0; i < 2 * LineMerger::kWaitingLinesMax; ++i)
    other.say(0, std::to_string(i));
  CHECK(other.now_shown().size() >= LineMerger::kWaitingLinesMax);
}

TEST_CASE("eight ranks with ten thousand equal lines each are shown line by line, once") {
  Node node{8};
  for (int begin = 0; begin < 10'000; begin += 1000)
    for (int rank = 0; rank < 8; ++rank)
      for (int i = begin; i < begin + 1000; ++i) node.say(rank, fmt::format("step {}", i));
  const Shown shown = node.now_shown();
  REQUIRE(shown.size() == 10'000);
  for (std::size_t i = 0; i < shown.size(); ++i)
    if (shown[i] != fmt::format("[0-7] step {}", i)) FAIL(shown[i]);
}

}  // namespace
}  // namespace ddprun
