#include "agent/introspection/native_stack.hpp"

#include "agent/introspection/python_stack.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("what eu-stack writes is read") {
  const std::string text = parse_native_stack(
      "PID 495 - process\n"
      "TID 495:\n"
      "#0  0x00007fda47dc5503 clock_nanosleep@GLIBC_2.2.5\n"
      "    ../sysdeps/unix/sysv/linux/clock_nanosleep.c:71:10\n"
      "#1  0x000055cebc1db15e app::load_batch(int)\n"
      "    /src/train.cpp:12:3\n"
      "#2  0x000055cebc1db18e\n");
  CHECK(parse_stack_text(text) ==
        Frames{{"clock_nanosleep", "../sysdeps/unix/sysv/linux/clock_nanosleep.c", 71},
               {"app::load_batch(int)", "/src/train.cpp", 12},
               {"?", "", 0}});
}

TEST_CASE("without frames there is no stack") {
  CHECK(parse_native_stack("").empty());
  CHECK(parse_native_stack("eu-stack: dwfl_linux_proc_attach: Operation not permitted\n").empty());
}

}  // namespace
}  // namespace ddprun
