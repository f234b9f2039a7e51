#include "rendezvous/verdict/find_crash.hpp"
#include "rendezvous/verdict/wrapped_traceback.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

const ExitStatus kFailed{.code = 1};

constexpr char kLogged[] =
    R"({"time": 1.5, "level": "ERROR", "message": "failed", "exc_info": )"
    R"("Traceback (most recent call last):\n  File \"/t.py\", line 9, in <module>\n    main()\n)"
    R"(  File \"/t.py\", line 4, in main\n    {}[\"x\"]\nKeyError: 'x'", "step": 3})";

std::vector<std::string> texts(std::string_view string) {
  std::vector<std::string> out;
  for (const StringLine& line : lines_of_string(string)) out.push_back(line.text);
  return out;
}

TEST_CASE("a traceback in a string of JSON is read as if it had been printed") {
  const std::string text = "step 3\n" + std::string{kLogged} + "\n";
  const auto crash = find_crash(text, kFailed);
  REQUIRE(crash);
  const Raised& raised = crash->raised.back();
  CHECK(raised.fault == Fault{"KeyError", "'x'", "/t.py", 4, "main"});
  CHECK(raised.frames == std::vector<Frame>{{"main", "/t.py", 4}, {"<module>", "/t.py", 9}});
  CHECK(crash->begin == text.find("Traceback"));
}

TEST_CASE("a traceback in a string of JSON was logged, so the program may have gone on") {
  CHECK(find_crash(kLogged, kFailed)->logged);
  CHECK(find_crash(R"({"text": "Failed:\nTraceback (most recent call last):\n)"
                   R"(  File \"/t.py\", line 9, in f\nKeyError: 'x'"})",
                   kFailed)
            ->logged);
}

TEST_CASE("a chain of exceptions in a string of JSON is known as one") {
  const auto crash = find_crash(
      R"({"exc_info": "Traceback (most recent call last):\n  File \"/t.py\", line 2, in f\n)"
      R"(OSError: bad\n\nThe above exception was the direct cause of the following exception:\n\n)"
      R"(Traceback (most recent call last):\n  File \"/t.py\", line 7, in g\nValueError: no"})",
      kFailed);
  REQUIRE(crash);
  REQUIRE(crash->raised.size() == 2);
  CHECK(crash->raised[0].fault.type == "OSError");
  CHECK(crash->raised[1].fault.line == 7);
}

TEST_CASE("a line that was cut is read as far as it is there") {
  const std::string_view whole = kLogged;
  CHECK(find_crash(whole.substr(whole.find("Traceback")), kFailed)->raised.back().fault.line == 4);
  CHECK(find_crash(whole.substr(0, whole.find("'x'")), kFailed)->raised.back().fault.message == "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_NOTHROW(find_crash(whole.substr(0, size), kFailed));
}

TEST_CASE("the escapes of a string stand for characters, and its end ends it") {
  CHECK(texts(R"(a\tb\"c\\n\/d)") == std::vector<std::string>{"a\tb\"c\\n/d"});
  CHECK(texts(R"(one\n\ntwo", "n": 1)") == std::vector<std::string>{"one", "", "two"});
  CHECK(texts(R"(\u0041\u00e9\u20ac)") == std::vector<std::string>{"A\u00e9\u20ac"});
  CHECK(texts("cut\\u00") == std::vector<std::string>{"cut"});
  CHECK(texts(R"(cut \ud83d\ude)") == std::vector<std::string>{"cut "});
  CHECK(texts("cut\\") == std::vector<std::string>{"cut"});
  CHECK(lines_of_string(R"(one\ntwo)")[1].offset == 5);
}

TEST_CASE("a traceback that no escapes divide is in no string") {
  CHECK(begin_of_logged_traceback("Traceback (most recent call last):") == std::string_view::npos);
  CHECK(begin_of_logged_traceback(R"("x": "Traceback (most recent call last):\n)") == 6);
}

}  // namespace
}  // namespace ddprun
