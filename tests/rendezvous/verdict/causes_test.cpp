#include "rendezvous/verdict/causes.hpp"

#include <csignal>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

HangReport missing_rank() {
  HangReport hang{.sentence = "rank 1 has not come", .operation = "gloo:all_reduce"};
  hang.missing_ranks = "1";
  hang.waiting_ranks = "0,2";
  hang.stacks = {
      {.ranks = "1", .stack = "sleep\t/usr/lib/python3.11/time.py\t3\nload\t/me/t.py\t12"}};
  return hang;
}

TEST_CASE("the cause of a hang is the missing ranks, at the line of the user's program") {
  const Cause cause = cause_of(end_of(missing_rank()), "");
  CHECK(cause.kind == FailureKind::kHang);
  CHECK(cause.ranks == "1");
  CHECK(cause.sentence == "rank 1 has not come");
  CHECK(cause.fault == Fault{.file = "/me/t.py", .line = 12, .function = "load"});
  CHECK(cause.fingerprint == "hang at t.py:12");
}

TEST_CASE("if no rank is missing, all that wait are the cause of a hang") {
  HangReport deadlock = missing_rank();
  deadlock.missing_ranks.clear();
  CHECK(cause_of(end_of(deadlock), "").ranks == "0,2");
}

TEST_CASE("a hang without a stack is known by its operation") {
  HangReport hang = missing_rank();
  hang.stacks.clear();
  CHECK(cause_of(end_of(hang), "").fingerprint == "hang in gloo:all_reduce");
  hang.operation.clear();
  CHECK(cause_of(end_of(hang), "").fingerprint == "hang");
}

TEST_CASE("a fingerprint names what failed and where, and no number that changes") {
  WorkerEnd end{.ranks = "3", .kind = FailureKind::kException, .status = {.code = 1}};
  end.fault = {.type = "OSError", .message = "port 4711 is taken by 99"};
  CHECK(fingerprint_of(end) == "OSError: port # is taken by #");
  end.fault.file = "/a/train.py";
  end.fault.line = 8;
  CHECK(fingerprint_of(end) == "OSError at train.py:8");
  CHECK(fingerprint_of({.kind = FailureKind::kOutOfMemory}) == "out of memory");
  CHECK(fingerprint_of({.kind = FailureKind::kNodeLost}) == "node lost");
  CHECK(fingerprint_of({.kind = FailureKind::kSignal, .status = {.signal = SIGSEGV}}) ==
        "was killed by SIGSEGV (signal 11)");
}

TEST_CASE("only a rank that fails with code 0 is advised to exit with another one") {
  WorkerEnd end{.ranks = "3", .kind = FailureKind::kException, .status = {.code = 1}};
  end.fault.type = "KeyError";
  CHECK(cause_of(end, "").hint.empty());
  end.status = {};
  CHECK_THAT(cause_of(end, "").hint, contains("exit with another code than 0"));
}

}  // namespace
}  // namespace ddprun
