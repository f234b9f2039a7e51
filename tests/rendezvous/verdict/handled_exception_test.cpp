// Tracebacks of exceptions that a program has dealt with before it exits.
#include <string>

#include "rendezvous/verdict/find_crash.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr auto kLate = [](std::size_t) { return true; };

/// A traceback whose outermost frame is this function's, and that many lines behind it.
std::string traceback_of(const std::string& outermost, int lines) {
  std::string text = "Traceback (most recent call last):\n  File \"/t.py\", line 9, in " +
                     outermost + "\n    f()\n  File \"/t.py\", line 4, in f\nKeyError: 'x'\n";
  for (int i = 0; i < lines; ++i) text += "reading shard " + std::to_string(i) + "\n";
  return text;
}

TEST_CASE("an exception that a function has caught does not explain an end long behind it") {
  CHECK_FALSE(find_crash(traceback_of("load_cache", 30), {.code = 1}, kLate));
  CHECK(find_crash(traceback_of("<module>", 30), {.code = 1}, kLate));
}

TEST_CASE("an exception that a function has caught explains the end that it then brings about") {
  CHECK(find_crash(traceback_of("main", 1), {.code = 1}, kLate));
}

}  // namespace
}  // namespace ddprun
