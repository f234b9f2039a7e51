// Crashes below which Python's module faulthandler has written stacks.
#include <csignal>

#include "tests/rendezvous/verdict/crash_text.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// What Python 3.14 writes below the stacks of its threads.
constexpr char kStackOfC[] =
    "\nCurrent thread's C stack trace (most recent call first):\n"
    "  Binary file \"/usr/bin/python3.14\", at _Py_DumpStack+0x4b [0x6b1c3b]\n"
    "  Binary file \"/usr/lib/x86_64-linux-gnu/libc.so.6\", at +0x3fdf0 [0x7f7e4b23fdf0]\n"
    "  <truncated rest of calls>\n"
    "\nExtension modules: numpy (total: 1)\n";

TEST_CASE("faulthandler names the line of Python below a crash") {
  const std::string text =
      "Fatal Python error: Segmentation fault\n\n"
      "Thread 0x00007f2 (most recent call first):\n  File \"/other.py\", line 1 in wait\n\n"
      "Current thread 0x00007f1 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/ctypes/__init__.py\", line 519 in string_at\n"
      "  File \"/t.py\", line 12 in read_native\n  File \"/t.py\", line 20 in <module>\n\n"
      "Extension modules: numpy.core._multiarray_umath (total: 1)\n";
  CHECK(crash_of(text, {.signal = SIGSEGV}) == "Segmentation fault at /t.py:12: ");
  CHECK(find_crash(text, {.signal = SIGSEGV})->source == Crash::Source::kNative);
}

TEST_CASE("the stack that faulthandler writes ends with the first line that is none of it") {
  const std::string text =
      "Fatal Python error: Aborted\n\nCurrent thread 0x00007f1 (most recent call first):\n"
      "  File \"/t.py\", line 12 in step\nthe reader was here:\n"
      "  File \"/reader.py\", line 3 in read\n";
  const auto crash = find_crash(text, kAborted);
  REQUIRE(crash);
  CHECK(crash->raised.front().frames == std::vector<Frame>{{"step", "/t.py", 12}});
}

TEST_CASE("an abort of a thread that is none of Python's is shown with the main thread's stack") {
  const std::string text =
      "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
      "  what():  [enforce fail at pair.cc:446] op.preamble.length <= op.nbytes. 4 vs 2\n"
      "Fatal Python error: Aborted\n\nCurrent thread 0x00007f3 (most recent call first):\n"
      "  <no Python frame>\n\nThread 0x00007f1 (most recent call first):\n"
      "  File \"/t.py\", line 10 in <module>\n\nExtension modules: numpy (total: 1)\n";
  CHECK(crash_of(text, kAborted).starts_with("gloo::EnforceNotMet at /t.py:10: [enforce fail"));
}

TEST_CASE("the stack of C functions that Python 3.14 adds is none of Python's") {
  const std::string segmentation_fault =
      "Fatal Python error: Segmentation fault\n\n"
      "Thread 0x00007f2 [pt_autograd_0] (most recent call first):\n  <no Python frame>\n\n"
      "Current thread 0x00007f1 [python3] (most recent call first):\n"
      "  File \"/t.py\", line 12 in read_native\n  File \"/t.py\", line 20 in <module>\n";
  CHECK(crash_of(segmentation_fault + kStackOfC, {.signal = SIGSEGV}) ==
        "Segmentation fault at /t.py:12: ");
  const std::string abort =
      "Fatal Python error: Aborted\n\nCurrent thread 0x00007f3 [pt_gloo] (most recent call "
      "first):\n"
      "  <no Python frame>\n\nThread 0x00007f1 [python3] (most recent call first):\n"
      "  File \"/t.py\", line 10 in <module>\n";
  CHECK(crash_of(abort + kStackOfC, kAborted) == "Aborted at /t.py:10: ");
  CHECK(last_words("disk is full\n" + std::string{kStackOfC}) == "disk is full");
}

}  // namespace
}  // namespace ddprun
