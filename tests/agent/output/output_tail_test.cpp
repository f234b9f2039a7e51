#include "agent/output/output_tail.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("OutputTail keeps the last lines, the unfinished one included") {
  OutputTail tail;
  for (int i = 0; i < 100; ++i) tail.append("line " + std::to_string(i) + "\n");
  tail.append("no new");
  tail.append("line");
  const Lines lines = tail.lines();
  REQUIRE(lines.size() == OutputTail::kLinesMax);
  CHECK(lines.back() == "no newline");
  CHECK(lines[lines.size() - 2] == "line 99");
}

TEST_CASE("OutputTail has as many lines when all of them are finished") {
  OutputTail tail;
  for (int i = 0; i < 100; ++i) tail.append("line " + std::to_string(i) + "\n");
  const Lines lines = tail.lines();
  REQUIRE(lines.size() == OutputTail::kLinesMax);
  CHECK(lines.front() == "line " + std::to_string(100 - OutputTail::kLinesMax));
}

TEST_CASE("OutputTail shows of a progress bar what a terminal would show") {
  OutputTail tail;
  tail.append("epoch 1\n10%\r20%\r30%\r\nend\n");
  CHECK(tail.lines() == Lines{"epoch 1", "30%", "end"});
}

TEST_CASE("OutputTail makes control characters harmless and cuts endless lines") {
  OutputTail tail;
  tail.append("\x1b[31mred\x07\n");
  tail.append(std::string(1'000'000, 'x'));
  CHECK(tail.lines()[0] == "?[31mred?");
  CHECK(tail.lines()[1].size() == OutputTail::kLineBytesMax);
}

using namespace std::chrono_literals;

const TimePoint kTailStart{100s};

TEST_CASE("the time at which a traceback begins is known") {
  CrashTail tail;
  tail.append("step 1\n", kTailStart);
  tail.append("Traceback (most recent call last):\n", kTailStart + 1s);
  tail.append("  File \"x.py\", line 1, in f\nKeyError: 'x'\n", kTailStart + 2s);
  const StreamEnd end = tail.end();
  CHECK(end.text.starts_with("step 1\nTraceback"));
  CHECK(end.came(7) == kTailStart + 1s);
  CHECK(end.came(end.text.size()) == std::nullopt);
}

TEST_CASE("the time at which the dump of a program's watchdog begins is known") {
  CrashTail tail;
  tail.append("step 1\n", kTailStart);
  tail.append("Timeout (0:00:05)!\nThread 0x1 (most recent call first):\n", kTailStart + 1s);
  CHECK(tail.end().came(7) == kTailStart + 1s);
}

TEST_CASE("a sign that comes in two pieces is seen when the second one comes") {
  CrashTail tail;
  tail.append("Traceback (mo", kTailStart);
  tail.append("st recent call last):\n", kTailStart + 1s);
  tail.append("x\n", kTailStart + 2s);
  CHECK(tail.end().came(0) == kTailStart + 1s);
}

TEST_CASE("memory is bounded, and the last of the stream is kept with its times") {
  CrashTail tail;
  for (int i = 0; i < 5000; ++i) tail.append(std::string(99, 'x') + "\n", kTailStart);
  tail.append("Traceback (most recent call last):\nKeyError\n", kTailStart + 5s);
  StreamEnd end = tail.end();
  CHECK(end.text.size() < 2 * CrashTail::kBytesMax);
  const std::size_t at = end.text.find("Traceback");
  REQUIRE(at != std::string::npos);
  CHECK(end.came(at) == kTailStart + 5s);
  tail.append(std::string(10 * CrashTail::kBytesMax, 'y'), kTailStart + 6s);
  end = tail.end();
  CHECK(end.text.size() <= 2 * CrashTail::kBytesMax + CrashTail::kHeadBytesMax);
  CHECK(end.text.find('x') == std::string::npos);
  CHECK(end.text.starts_with("Traceback"));  // see below
}

TEST_CASE("of a traceback with a long message the beginning is kept") {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n";
  for (const std::size_t piece : {std::size_t{1000}, 10 * CrashTail::kBytesMax}) {
    CrashTail tail;
    tail.append("step 1\n", kTailStart);
    std::string message = traceback + "ValueError: " + std::string(5 * CrashTail::kBytesMax, 'y');
    message += "end\n";
    for (std::size_t at = 0; at < message.size(); at += piece)
      tail.append(std::string_view{message}.substr(at, piece), kTailStart + 1s);
    const StreamEnd end = tail.end();
    CHECK(end.text.starts_with(traceback + "ValueError: yyy"));
    CHECK(end.text.ends_with("yend\n"));
    CHECK(end.text.size() < 2 * CrashTail::kBytesMax + CrashTail::kHeadBytesMax);
    CHECK(end.came(0) == kTailStart + 1s);
  }
}

TEST_CASE("of many tracebacks the times of the last ones are kept") {
  CrashTail tail;
  for (int i = 0; i < 500; ++i)
    tail.append("Traceback (most recent call last):\n", kTailStart + std::chrono::seconds{i});
  const StreamEnd end = tail.end();
  CHECK(end.marks.size() <= CrashTail::kMarksMax);
  CHECK(end.came(end.text.rfind("Traceback")) == kTailStart + 499s);
}

}  // namespace
}  // namespace ddprun
