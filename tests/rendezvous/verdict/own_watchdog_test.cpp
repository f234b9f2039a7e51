// The watchdog that a program sets for itself with faulthandler.dump_traceback_later().
#include "rendezvous/verdict/causes.hpp"
#include "rendezvous/verdict/find_crash.hpp"
#include "rendezvous/verdict/judge_end.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const TimePoint kWatchdogEnd{100s};
const ExitStatus kOwnCode{.code = 1};

const std::string kDump =
    "Timeout (0:00:05)!\n"
    "Thread 0x00007f2 (most recent call first):\n  File \"/beat.py\", line 7 in beat\n\n"
    "Thread 0x00007f1 (most recent call first):\n"
    "  File \"/usr/lib/python3.11/socket.py\", line 706 in readinto\n"
    "  File \"/t.py\", line 12 in read\n  File \"/t.py\", line 20 in <module>\n";

/// A worker that has written this, from 1 s before its end on.
WorkerEnd watched(std::string err, ExitStatus status = kOwnCode) {
  EndClues clues{.rank = 1, .status = status, .ended = kWatchdogEnd};
  clues.err.text = std::move(err);
  clues.err.marks = {{clues.err.text.rfind("Timeout ("), kWatchdogEnd - 1s}};
  return judge_end(clues);
}

TEST_CASE("a program's own watchdog names the line at which it has ended the program") {
  const WorkerEnd end = watched("reading\n" + kDump);
  CHECK(end.blame == Blame::kOwn);
  CHECK(end.kind == FailureKind::kExitCode);
  CHECK(end.fault.line == 12);
  CHECK(end.fault.function == "read");
  CHECK(cause_of(end, "h1").sentence ==
        "rank 1 on h1 exited with code 1 at t.py:12 in read: faulthandler's watchdog has waited "
        "for 0:00:05");
  CHECK(end.began_us == microseconds(kWatchdogEnd - 1s));
}

TEST_CASE("a dump from which the program has gone on does not explain its end") {
  CHECK(watched(kDump + "the data is broken\n").says == "the data is broken");
  CHECK(watched(kDump + "the data is broken\n").fault.line == 0);
  CHECK(watched(kDump, {.code = 3}).fault.line == 0);
  CHECK_FALSE(find_crash(kDump, kOwnCode));  // nobody knows that it was written late
  const std::string twice = kDump + "going on\n" + kDump;
  CHECK(find_crash(twice, kOwnCode, [](auto) { return true; })->begin == twice.rfind("Timeout"));
}

TEST_CASE("who is ended by its own watchdog while it waits for other ranks follows from them") {
  const WorkerEnd end = watched(
      "Timeout (0:00:05)!\nThread 0x00007f1 (most recent call first):\n"
      "  File \"/v/site-packages/torch/distributed/distributed_c10d.py\", line 9 in all_reduce\n"
      "  File \"/t.py\", line 12 in <module>\n");
  CHECK(end.blame == Blame::kFollows);
  CHECK(end.consequence == Consequence::kCollectiveTimedOut);
}

TEST_CASE("a watchdog that ends a program which an exception tears down says less than that") {
  const auto traceback = [](const std::string& function) {
    return "Traceback (most recent call last):\n  File \"/t.py\", line 4, in " + function +
           "\nKeyError: 'x'\n";
  };
  CHECK(watched(traceback("<module>") + kDump).fault.type == "KeyError");
  CHECK(watched(traceback("load_cache") + kDump).fault.line == 12);
}

TEST_CASE("a dump of a watchdog that was cut is read as far as it is there") {
  for (std::size_t size = 0; size < kDump.size(); ++size)
    CHECK_NOTHROW(watched(kDump.substr(0, size)));
}

}  // namespace
}  // namespace ddprun
