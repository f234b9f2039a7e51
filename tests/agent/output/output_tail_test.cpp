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

}  // namespace
}  // namespace ddprun
