// Tracebacks into which other processes have written lines of their own.
#include <string>

#include "rendezvous/verdict/find_crash.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// "TYPE at LINE" of the exception whose traceback has these lines; "" when none is found.
std::string type_and_line(const std::string& lines) {
  const auto crash =
      find_crash("Traceback (most recent call last):\n" + lines, ExitStatus{.code = 1});
  if (!crash) return "";
  const Fault& fault = crash->raised.back().fault;
  return fault.type + " at " + std::to_string(fault.line);
}

TEST_CASE("lines of another process in a traceback are passed over") {
  CHECK(type_and_line("  File \"/t.py\", line 9, in <module>\nloader 3: shard 1 is read\n"
                      "    configure({})\n  File \"/t.py\", line 4, in configure\n"
                      "shard 2 is read\nloader 3: shard 3 is read\n"
                      "    return settings[\"rate\"]\nloader 3: shard 4 is read\n"
                      "KeyError: 'rate'\n") == "KeyError at 4");
  CHECK(type_and_line("  File \"/t.py\", line 9, in <module>\nINFO: shard 1 is read\n"
                      "  File \"/t.py\", line 4, in configure\nNoSuchShard: 3\n") ==
        "NoSuchShard at 4");
}

TEST_CASE("the first exception below the frames is that of the traceback") {
  const std::string frame = "  File \"/t.py\", line 9, in <module>\n    f()\n";
  CHECK(type_and_line(frame + "KeyError: 'x'\nloader 3: ready\nOSError: late\n") ==
        "KeyError at 9");
  CHECK(type_and_line(frame + "NoSuchShard: 3\nOSError: late\n") == "NoSuchShard at 9");
  CHECK(type_and_line(frame + "KeyError: 'x'\nStack (most recent call last):\n" + frame +
                      "OSError: late\n") == "KeyError at 9");
}

TEST_CASE("words that only look like a traceback have no exception further down") {
  CHECK(type_and_line("the text above is one\nKeyError: 'x'\n").empty());
  CHECK(type_and_line(
            "  File \"/t.py\", line 9, in <module>\n1 one\n2 two\n3 three\n4 four\n5 five\n6 six\n"
            "KeyError: 'x'\n")
            .empty());
}

TEST_CASE("a traceback that breaks off does not go on in the next one") {
  const auto crash = find_crash(
      "Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nthe disk is full\n"
      "Traceback (most recent call last):\n  File \"/b.py\", line 2, in g\nKeyError: 'x'\n",
      ExitStatus{.code = 1});
  REQUIRE(crash);
  CHECK(crash->raised.back().frames.size() == 1);
}

}  // namespace
}  // namespace ddprun
