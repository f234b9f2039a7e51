#include "agent/error_file.hpp"
#include "agent/failure_report.hpp"
#include "agent/line_buffer.hpp"
#include "agent/output_tail.hpp"
#include "agent/usable_cpus.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("LineBuffer passes whole lines on and holds the unfinished one back") {
  LineBuffer lines;
  CHECK(lines.feed("one\ntwo\nthr") == "one\ntwo\n");
  CHECK(lines.feed("ee").empty());
  CHECK(lines.feed("\nfour") == "three\n");
  CHECK(lines.take_rest() == "four");
  CHECK(lines.empty());
}

TEST_CASE("LineBuffer passes a progress bar on as it is redrawn") {
  LineBuffer lines;
  CHECK(lines.feed("10%\r20%\r3") == "10%\r20%\r");
}

TEST_CASE("LineBuffer holds a line of any length in bounded memory, and loses nothing") {
  LineBuffer lines;
  const std::string part(10'000, 'x');
  std::size_t passed = 0;
  for (int i = 0; i < 100; ++i) passed += lines.feed(part).size();
  CHECK(passed > 1'000'000 - LineBuffer::kHeldBytesMax - part.size());
  CHECK(passed + lines.take_rest().size() == 1'000'000);
}

TEST_CASE("LineBuffer takes every byte, also those that are no text") {
  LineBuffer lines;
  const std::string bytes{"\0\xff\n\x01", 4};
  const std::string passed = lines.feed(bytes);
  CHECK(passed + lines.take_rest() == bytes);
}

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

TEST_CASE("both forms of error file are understood") {
  const auto object = parse_error_file(
      R"({"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "Traceback", "timestamp": "1"}}})");
  REQUIRE(object.has_value());
  CHECK(object->message == "ValueError: no");
  CHECK(object->traceback == "Traceback");
  const auto text = parse_error_file(R"({"message": "plain", "timestamp": 1})");
  REQUIRE(text.has_value());
  CHECK(text->message == "plain");
  CHECK(text->traceback.empty());
}

TEST_CASE("an error file that is cut off or something else is no error file") {
  CHECK_FALSE(parse_error_file("").has_value());
  CHECK_FALSE(parse_error_file(R"({"message": {"mess)").has_value());
  CHECK_FALSE(parse_error_file(R"({"message": 3})").has_value());
  CHECK_FALSE(parse_error_file(R"({"message": {"message": 3}})").has_value());
  CHECK_FALSE(parse_error_file("[1]").has_value());
  CHECK_FALSE(read_error_file("/nonexistent/error.json").has_value());
}

TEST_CASE("the failure report names rank, node, end and last lines") {
  const WorkerFailure failure{.host = "h1",
                              .rank = 5,
                              .local_rank = 1,
                              .pid = 4711,
                              .status = {.signal = 9},
                              .message = "ValueError: no\nmore",
                              .error_file = "/tmp/error.json",
                              .last_lines = {"first", "second"}};
  CHECK(failure_report(failure, 3) ==
        "ddprun: the job failed: rank 5 (local rank 1 on host h1, pid 4711) was killed by SIGKILL "
        "(signal 9)\n"
        "  in attempt 3, the last one allowed\n"
        "  it recorded:\n"
        "    | ValueError: no\n"
        "    | more\n"
        "  error file: /tmp/error.json\n"
        "  its last lines:\n"
        "    | first\n"
        "    | second\n");
}

TEST_CASE("the failure report says when there is nothing to quote") {
  const WorkerFailure failure{.host = "h", .pid = 1, .status = {.code = 3}};
  CHECK_THAT(failure_report(failure, 1), contains("it wrote nothing to its output"));
}

TEST_CASE("a cgroup's quota counts in whole CPUs") {
  CHECK(cpu_quota("200000 100000") == 2);
  CHECK(cpu_quota("50000 100000") == 1);
  CHECK_FALSE(cpu_quota("max 100000").has_value());
  CHECK_FALSE(cpu_quota("").has_value());
  CHECK_FALSE(cpu_quota("nonsense here").has_value());
  CHECK(usable_cpus() >= 1);
}

}  // namespace
}  // namespace ddprun
