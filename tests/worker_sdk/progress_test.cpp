// Heartbeats and the progress bar, which need no LibTorch.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "ddprun/heartbeat.hpp"
#include "ddprun/progress_bar.hpp"
#include "tests/support/catch.hpp"

namespace ddprun::sdk {
namespace {

using namespace std::chrono_literals;

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
  CHECK(reading->samples_per_second > 0);
  CHECK(reading->time_ns >= before);
  CHECK(reading->time_ns <= monotonic_ns());
  CHECK_FALSE(board.read(0).has_value());
  heartbeat.beat(121);
  CHECK(board.read(1)->step == 121);
  CHECK(std::isnan(board.read(1)->loss));
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

const ProgressReading kReading{.title = "epoch 3",
                               .done = 420,
                               .total = 1000,
                               .elapsed = 12s,
                               .values = {{"loss", 0.31}, {"accuracy", 97.25}}};

TEST_CASE("a bar shows how much is done and what is left") {
  CHECK(render_bar(kReading, 110) ==
        "epoch 3  42% |############-----------------| 420/1000 0:12 elapsed, 0:16 left, 35/s, loss "
        "0.31, accuracy 97.25");
  CHECK(render_bar(kReading, 30) == "epoch 3  42% 420/1000 0:12 ela");  // no room for the bar
}

TEST_CASE("a line tells the same in words") {
  CHECK(render_line(kReading) ==
        "epoch 3  42% 420/1000 0:12 elapsed, 0:16 left, 35/s, loss 0.31, accuracy 97.25");
  CHECK(render_line({.title = "steps", .done = 7, .total = 0, .elapsed = 3723s, .values = {}}) ==
        "steps 7 1:02:03 elapsed, 0.00/s");
}

TEST_CASE("a bar fits into any width") {
  for (int width = 0; width < 200; ++width)
    CHECK(render_bar(kReading, width).size() <= static_cast<std::size_t>(width));
}

/// What a bar writes, its clock being the test's.
class BarFixture {
 protected:
  ~BarFixture() { std::fclose(output_); }
  std::string written() {
    std::rewind(output_);
    std::string text(10'000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), output_));
    return text;
  }
  static std::size_t count(const std::string& text, char c) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), c));
  }

  std::FILE* output_ = std::tmpfile();
  ProgressBar::Clock::time_point begin_{};
};

TEST_CASE_METHOD(BarFixture, "in a log file there is a line now and then, and one at the end") {
  {
    ProgressBar bar{"epoch 1", 100, {.output = output_, .line_interval = 10s}, begin_};
    for (int i = 1; i <= 25; ++i) bar.update(i, {{"loss", 1.0 / i}}, begin_ + i * 1s);
    bar.finish(begin_ + 26s);
    bar.finish(begin_ + 99s);
  }
  const std::string text = written();
  CHECK(count(text, '\n') == 3);
  CHECK_THAT(text, contains("epoch 1  10% 10/100 0:10 elapsed, 1:30 left, 1.00/s, loss 0.1\n"));
  CHECK_THAT(text, contains("25/100 0:26 elapsed"));
  CHECK(count(text, '\r') == 0);
}

TEST_CASE_METHOD(BarFixture, "on a terminal one line changes and is ended once") {
  ProgressBar bar{"e", 10, {.output = output_, .terminal = true, .bar_interval = 100ms}, begin_};
  for (int i = 1; i <= 10; ++i) bar.update(i, {}, begin_ + i * 50ms);
  bar.finish(begin_ + 600ms);
  const std::string text = written();
  CHECK(count(text, '\r') == 6);
  CHECK(count(text, '\n') == 1);
  CHECK(text.back() == '\n');
}

TEST_CASE_METHOD(BarFixture, "ranks that do not show it show nothing") {
  ProgressBar bar{"e", 10, {.shown = false, .output = output_, .terminal = true}, begin_};
  bar.update(5, {}, begin_ + 1h);
  bar.finish(begin_ + 2h);
  CHECK(written().empty());
}

}  // namespace
}  // namespace ddprun::sdk
