#include "base/failure.hpp"

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

TEST_CASE("an end is described as users know it from their shell") {
  CHECK(describe(ExitStatus{.code = 0}) == "exited with code 0");
  CHECK(describe(ExitStatus{.code = 3}) == "exited with code 3");
  CHECK(describe(ExitStatus{.signal = SIGKILL}) == "was killed by SIGKILL (signal 9)");
  CHECK(describe(ExitStatus{.signal = SIGSEGV, .core_dumped = true}) ==
        "was killed by SIGSEGV (signal 11, core dumped)");
}

TEST_CASE("a signal without a name is shown by its number") {
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(99) == "signal 99");
}

TEST_CASE("a shell's exit code is the process's, or 128 and the signal") {
  CHECK(ExitStatus{.code = 7}.shell_code() == 7);
  CHECK(ExitStatus{.signal = SIGTERM}.shell_code() == 143);
}

TEST_CASE("only a process that exits with 0 by itself has ended well") {
  CHECK(ExitStatus{}.ok());
  CHECK_FALSE(ExitStatus{.code = 1}.ok());
  CHECK_FALSE(ExitStatus{.signal = SIGKILL}.ok());
}

}  // namespace
}  // namespace ddprun
