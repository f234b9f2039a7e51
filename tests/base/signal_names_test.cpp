#include "base/signal_names.hpp"

#include <csignal>
#include <cstring>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("a signal's number leads to its name, and the name to the number") {
  CHECK(signal_abbreviation(SIGSEGV) == "SEGV");
  CHECK(signal_of_abbreviation("SEGV") == SIGSEGV);
  CHECK(signal_abbreviation(99).empty());
  CHECK_FALSE(signal_of_abbreviation("SIGSEGV").has_value());
  CHECK_FALSE(signal_of_abbreviation("").has_value());
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
TEST_CASE("the names of signals are those of the C library") {
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* const name = sigabbrev_np(signal);
    CAPTURE(signal);
    CHECK(signal_abbreviation(signal) == (name != nullptr ? name : ""));
  }
}
#endif

}  // namespace
}  // namespace ddprun
