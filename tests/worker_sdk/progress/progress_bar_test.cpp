#include "ddprun/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "tests/support/catch.hpp"
#include "tests/support/pipe.hpp"

namespace ddprun::sdk {
namespace {

using namespace std::chrono_literals;

const ProgressReading kReading{.title = "epoch 3",
                               .done = 420,
                               .total = 1000,
                               .elapsed = 12s,
                               .values = {{"loss", 0.31}, {"accuracy", 97.25}}};

TEST_CASE("a bar shows how much is done and what is left") {
  CHECK(render_bar(kReading, 110) ==
        "epoch 3  42% |############-----------------| 420/1000 0:12 elapsed, 0:16 left, 35/s, loss "
        "0.31, accuracy 97.25");
  CHECK(render_bar(kReading, 80) ==
        "epoch 3  42% |#####--------| 420/1000 0:16 left, 35/s, loss 0.31, accuracy 97.25");
  CHECK(render_bar(kReading, 30) == "epoch 3  42% 420/1000 0:12 ela");  // no room for the bar
}

TEST_CASE("a line tells the same in words") {
  CHECK(render_line(kReading) ==
        "epoch 3  42% 420/1000 0:12 elapsed, 0:16 left, 35/s, loss 0.31, accuracy 97.25");
  CHECK(render_line({.title = "steps", .done = 7, .total = 0, .elapsed = 3723s, .values = {}}) ==
        "steps 7 1:02:03 elapsed, 0.00/s");
}

TEST_CASE("after a resume, rate and time left are those of the steps since then") {
  ProgressReading resumed = kReading;
  resumed.begun = 300;
  resumed.values.clear();
  CHECK(render_line(resumed) == "epoch 3  42% 420/1000 0:12 elapsed, 0:58 left, 10/s");
  resumed.begun = resumed.done;
  CHECK(render_line(resumed) == "epoch 3  42% 420/1000 0:12 elapsed, 0.00/s");
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

TEST_CASE_METHOD(BarFixture, "a line that says all is not written again at the end") {
  ProgressBar bar{"e", 100, {.begun = 90, .output = output_, .line_interval = 10s}, begin_};
  bar.update(95, {}, begin_ + 5s);
  bar.update(100, {}, begin_ + 10s);
  bar.finish(begin_ + 11s);
  CHECK(written() == "e 100% 100/100 0:10 elapsed, 1.00/s\n");
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

TEST_CASE("what is drawn can be seen at once, also behind a pipe") {
  Pipe pipe;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{fdopen(dup(pipe.writer()), "w"),
                                                               std::fclose};
  const ProgressBar::Clock::time_point begin{};
  ProgressBar bar{"e", 10, {.output = output.get(), .line_interval = 1s}, begin};
  bar.update(5, {}, begin + 1s);
  CHECK_THAT(pipe.available(), contains("5/10"));
}

TEST_CASE_METHOD(BarFixture, "ranks that do not show it show nothing") {
  ProgressBar bar{"e", 10, {.shown = false, .output = output_, .terminal = true}, begin_};
  bar.update(5, {}, begin_ + 1h);
  bar.finish(begin_ + 2h);
  CHECK(written().empty());
}

}  // namespace
}  // namespace ddprun::sdk
