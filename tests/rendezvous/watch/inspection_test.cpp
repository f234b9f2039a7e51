#include "rendezvous/watch/inspection.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Kind = HangReport::Kind;

const Suspicion kMissing{Kind::kMissing, "0", 12, {1}, {0, 2, 3}, 5s};

StackGroup waiting(const std::string& ranks) {
  return {.ranks = ranks,
          .doing = "waits",
          .stack = "step\ttrain.py\t30\n",
          .operation = "gloo:all_reduce",
          .group = "0 (default_pg)",
          .sequence = 12};
}

StackGroup sleeping(const std::string& ranks) {
  return {.ranks = ranks, .doing = "sleeps", .stack = "load\ttrain.py\t12\n"};
}

TEST_CASE("a report tells who has not come, to what, and who waits") {
  Inspection inspection{7, kMissing, {"a", "b"}};
  inspection.take("a", {7, waiting("0"), false});
  inspection.take("a", {7, sleeping("1"), true});
  CHECK_FALSE(inspection.complete());
  inspection.take("b", {7, waiting("2-3"), true});
  CHECK(inspection.complete());
  const HangReport report = inspection.report();
  CHECK(report.sentence ==
        "rank 1 has not reached gloo:all_reduce, number 12 of group 0 (default_pg), in which "
        "ranks 0,2-3 have waited for 5 s");
  CHECK(report.operation == "gloo:all_reduce");
  CHECK(report.missing_ranks == "1");
  CHECK(report.waiting_ranks == "0,2-3");
  CHECK(report.silent_ms == 5000);
  CHECK(report.stacks == std::vector{sleeping("1"), waiting("0,2-3")});
}

TEST_CASE("a node that is gone keeps no report waiting") {
  Inspection inspection{7, kMissing, {"a", "b"}};
  inspection.take("a", {7, waiting("0"), true});
  inspection.forget("b");
  CHECK(inspection.complete());
}

TEST_CASE("answers to another question, and of strangers, are passed over") {
  Inspection inspection{7, kMissing, {"a"}};
  inspection.take("a", {6, waiting("0"), true});
  inspection.take("b", {7, waiting("0"), true});
  CHECK_FALSE(inspection.complete());
  CHECK(inspection.report().stacks.empty());
}

TEST_CASE("without an answer the report tells what is known") {
  CHECK(Inspection{7, kMissing, {"a"}}.report().sentence ==
        "rank 1 has not reached a collective, number 12 of group 0, in which ranks 0,2-3 have "
        "waited for 5 s");
}

TEST_CASE("where nothing else shows who waits, the stacks do") {
  const Suspicion nobody_goes_on{Kind::kNoProgress, "", 0, {0, 1}, {}, 5s};
  Inspection inspection{7, nobody_goes_on, {"a"}};
  StackGroup receiving{.ranks = "0", .doing = "waits", .operation = "recv"};
  inspection.take("a", {7, receiving, false});
  SECTION("one waits, the other one is missing") {
    inspection.take("a", {7, sleeping("1"), true});
    const HangReport report = inspection.report();
    CHECK(report.kind == Kind::kMissing);
    CHECK(report.sentence == "rank 1 has not reached recv, in which rank 0 has waited for 5 s");
  }
  SECTION("both wait") {
    receiving.ranks = "1";
    inspection.take("a", {7, receiving, true});
    const HangReport report = inspection.report();
    CHECK(report.kind == Kind::kDeadlock);
    CHECK(report.stacks.size() == 1);
    CHECK(report.sentence ==
          "all of the workers have waited for each other for 5 s: ranks 0-1 in recv");
  }
}

TEST_CASE("where a collective gave up, only those are missing who are seen elsewhere") {
  const Suspicion gave_up{Kind::kNoProgress, "", 0, {0, 1, 3, 4, 5}, {2}, 0s, GaveUp::kCollective};
  Inspection inspection{7, gave_up, {"a"}};
  inspection.take("a", {7, waiting("0"), false});
  inspection.take("a", {7, {.ranks = "2-3", .held_up = HeldUp::kFailed}, false});
  SECTION("one sleeps, and of another one nothing is known") {
    inspection.take("a", {7, {.ranks = "5", .doing = "does not answer"}, false});
    inspection.take("a", {7, sleeping("1"), true});
    const HangReport report = inspection.report();
    CHECK(report.kind == Kind::kMissing);
    CHECK(report.missing_ranks == "1");
    CHECK(report.waiting_ranks == "0,2-3");
    CHECK_THAT(report.sentence, contains("have waited in vain"));
  }
  SECTION("one sleeps, and another one is exiting because it has given up itself") {
    StackGroup ending{.ranks = "5", .doing = "runs"};
    ending.stack = "?\t\t0\n__run_exit_handlers\t./stdlib/exit.c\t116\nmain\t\t0";
    inspection.take("a", {7, ending, false});
    inspection.take("a", {7, sleeping("1"), true});
    CHECK(inspection.report().missing_ranks == "1");
    CHECK(inspection.report().waiting_ranks == "0,2-3,5");
  }
  SECTION("only one that is exiting is not there") {
    StackGroup ending{.ranks = "5", .doing = "runs", .stack = "__run_exit_handlers\t\t0"};
    inspection.take("a", {7, ending, true});
    CHECK(inspection.report().missing_ranks == "5");
  }
  SECTION("one is stopped, or keeps the lock: then it has no stack") {
    inspection.take("a", {7, {.ranks = "4", .held_up = HeldUp::kStopped}, false});
    inspection.take("a", {7, {.ranks = "1", .held_up = HeldUp::kKeepsLock}, true});
    CHECK(inspection.report().missing_ranks == "1,4");
  }
  SECTION("nobody is") {
    inspection.take("a", {7, waiting("1"), true});
    CHECK(inspection.report().kind == Kind::kDeadlock);
  }
}

TEST_CASE("who is seen elsewhere while others give up, and soon after has, is not missing") {
  const Suspicion gave_up{Kind::kNoProgress, "", 0, {0, 1}, {2}, 0s, GaveUp::kCollective};
  const StackGroup failed{.ranks = "2", .held_up = HeldUp::kGaveUp};
  Inspection inspection{7, gave_up, {"a"}};
  inspection.take("a", {7, failed, false});
  SECTION("two are elsewhere") {
    inspection.take("a", {7, sleeping("0"), false});
    inspection.take("a", {7, sleeping("1"), true});
    CHECK(inspection.leaves_doubt());
    inspection.pause();
    CHECK_FALSE(inspection.complete());
    inspection.look_again(8, {"a"});
    inspection.take("a", {7, {.ranks = "1", .held_up = HeldUp::kGaveUp}, true});  // too late
    CHECK_FALSE(inspection.complete());
    SECTION("one of them gives up") {
      inspection.take("a", {8, {.ranks = "0", .held_up = HeldUp::kGaveUp}, true});
      CHECK(inspection.complete());
      CHECK(inspection.report().missing_ranks == "1");
      CHECK(inspection.report().waiting_ranks == "0,2");
    }
    SECTION("one of them is exiting") {
      const StackGroup ending{
          .ranks = "0", .doing = "runs", .stack = "Py_FinalizeEx\t\t0\nmain\t\t0"};
      inspection.take("a", {8, ending, true});
      CHECK(inspection.report().missing_ranks == "1");
    }
    SECTION("one comes too late, and has lost the ranks that gave up") {
      inspection.take("a", {8, {.ranks = "0", .held_up = HeldUp::kFailed}, true});
      CHECK(inspection.report().missing_ranks == "0-1");
    }
    SECTION("both give up: then one of them has made the other one wait") {
      inspection.take("a", {8, {.ranks = "0-1", .held_up = HeldUp::kGaveUp}, true});
      CHECK(inspection.report().missing_ranks == "0-1");
    }
    SECTION("one ends well: it was elsewhere, and did not give up") {
      inspection.take("a", {8, {.ranks = "0", .held_up = HeldUp::kEnded}, true});
      CHECK(inspection.report().missing_ranks == "0-1");
    }
    SECTION("no rank answers any more") { CHECK(inspection.report().missing_ranks == "0-1"); }
  }
  SECTION("one is elsewhere: it is the one") {
    inspection.take("a", {7, waiting("0"), false});
    inspection.take("a", {7, sleeping("1"), true});
    CHECK_FALSE(inspection.leaves_doubt());
  }
  SECTION("all wait: nothing is to be seen later") {
    inspection.take("a", {7, waiting("0-1"), true});
    CHECK_FALSE(inspection.leaves_doubt());
  }
}

TEST_CASE("one rank that gave up is enough to know that others have not come") {
  Inspection inspection{7, {Kind::kNoProgress, "", 0, {1}, {0}, 0s, GaveUp::kCollective}, {"a"}};
  inspection.take("a", {7, sleeping("1"), true});
  CHECK(inspection.report().sentence ==
        "rank 1 has not reached a collective, in which rank 0 has waited in vain");
}

TEST_CASE("who gave up in the store names the store") {
  Inspection inspection{7, {Kind::kNoProgress, "", 0, {1}, {0}, 0s, GaveUp::kStore}, {"a"}};
  inspection.take("a", {7, sleeping("1"), true});
  CHECK(inspection.report().sentence ==
        "rank 1 has not reached the store, in which rank 0 has waited in vain");
}

TEST_CASE("ranks that wait for each other in different operations are named as waiting") {
  Inspection inspection{7, {Kind::kDeadlock, "0", 12, {}, {0, 1}, 5s}, {"a"}};
  StackGroup other = waiting("1");
  other.group = "2";
  inspection.take("a", {7, waiting("0"), false});
  inspection.take("a", {7, other, true});
  CHECK(inspection.report().sentence ==
        "all of the workers have waited for each other for 5 s: ranks 0-1 in different operations");
}

TEST_CASE("whose stack shows it elsewhere is missing, also when the counters say nothing") {
  Inspection inspection{7, {Kind::kDeadlock, "0", 12, {}, {0, 2, 3}, 5s}, {"a"}};
  inspection.take("a", {7, waiting("0,2-3"), false});
  inspection.take("a", {7, sleeping("1"), true});
  CHECK(inspection.report().kind == Kind::kMissing);
  CHECK(inspection.report().missing_ranks == "1");
}

TEST_CASE("a rank that is stopped is waited for, whatever its counters told before") {
  const StackGroup stopped{
      .ranks = "2", .held_up = HeldUp::kStopped, .doing = "is stopped (SIGSTOP)"};
  SECTION("they told that it waits as well") {
    Inspection inspection{7, {Kind::kDeadlock, "0", 11, {}, {0, 1, 2}, 4s}, {"a"}};
    inspection.take("a", {7, stopped, false});
    inspection.take("a", {7, waiting("0-1"), true});
    const HangReport report = inspection.report();
    CHECK(report.kind == Kind::kMissing);
    CHECK(report.missing_ranks == "2");
    CHECK(report.waiting_ranks == "0-1");
    CHECK(report.sentence ==
          "rank 2 is stopped, and ranks 0-1 have waited for it in gloo:all_reduce, number 12 of "
          "group 0 (default_pg) for 4 s");
  }
  SECTION("somebody else is missing, too") {
    Inspection inspection{7, {Kind::kMissing, "0", 12, {1}, {0, 2}, 4s}, {"a"}};
    inspection.take("a", {7, stopped, false});
    inspection.take("a", {7, sleeping("1"), false});
    inspection.take("a", {7, waiting("0"), true});
    CHECK(inspection.report().sentence ==
          "ranks 1-2 have not reached gloo:all_reduce, number 12 of group 0 (default_pg), in which "
          "rank 0 has waited for 4 s");
  }
  SECTION("who is missing waits as well, in an operation before") {
    StackGroup before = waiting("0");
    before.sequence = 10;
    Inspection inspection{7, {Kind::kMissing, "0", 12, {0}, {1}, 4s}, {"a"}};
    inspection.take("a", {7, before, false});
    inspection.take("a", {7, waiting("1"), false});
    inspection.take("a", {7, stopped, true});
    CHECK(inspection.report().missing_ranks == "2");
    CHECK(inspection.report().waiting_ranks == "0-1");
  }
  SECTION("all are") {
    Inspection inspection{7, {Kind::kDeadlock, "0", 11, {}, {2}, 4s}, {"a"}};
    inspection.take("a", {7, stopped, true});
    CHECK(inspection.report().kind == Kind::kNoProgress);
    CHECK(inspection.report().sentence == "rank 2 has made no progress for 4 s");
  }
}

TEST_CASE("workers of which none waits make no progress") {
  const Suspicion nobody_goes_on{Kind::kNoProgress, "", 0, {0, 1}, {}, 61s};
  Inspection inspection{7, nobody_goes_on, {"a"}};
  inspection.take("a", {7, sleeping("0-1"), true});
  CHECK(inspection.report().sentence == "ranks 0-1 have made no progress for 61 s");
  CHECK(inspection.report().operation.empty());
}

TEST_CASE("a list of ranks that is none costs only that answer") {
  Inspection inspection{7, kMissing, {"a"}};
  inspection.take("a", {7, waiting("0-"), false});
  inspection.take("a", {7, waiting("0,2-3"), true});
  CHECK(inspection.report().operation == "gloo:all_reduce");
}

TEST_CASE("ranks that wait in an operation before do not say to which one a rank has not come") {
  StackGroup before = waiting("0");
  before.sequence = 11;
  before.operation = "gloo:broadcast";
  Inspection inspection{7, kMissing, {"a"}};
  inspection.take("a", {7, before, false});
  inspection.take("a", {7, waiting("2-3"), true});
  CHECK(inspection.report().operation == "gloo:all_reduce");
}

}  // namespace
}  // namespace ddprun
