#include "rendezvous/watch/deadlock.hpp"

#include "rendezvous/watch/inspection.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Kind = HangReport::Kind;

StackGroup in(const std::string& ranks, const std::string& operation,
              const std::string& shapes = "[[4]] Float") {
  StackGroup group{.ranks = ranks, .doing = "waits", .operation = operation};
  group.group = "0 (default_pg)";
  group.sequence = 11;
  group.shapes = shapes;
  return group;
}

/// All ranks of a world of four have entered collective 11 of the group of all.
Suspicion all_wait() {
  return {.kind = Kind::kDeadlock,
          .group = "0",
          .sequence = 11,
          .waiting = {0, 1, 2, 3},
          .silent = 5s,
          .waits = {{"0", 11, {0, 1, 2, 3}, {}}}};
}

TEST_CASE("who has called another operation than most of the others is the odd one") {
  const Deadlock found = explain_deadlock(
      all_wait(), {in("0,2-3", "gloo:all_reduce"), in("1", "gloo:broadcast", "[[8]] Float")});
  CHECK(found.odd == RankList{1});
  CHECK(found.conclusion ==
        "rank 1 called gloo:broadcast [[8]] Float, ranks 0,2-3 gloo:all_reduce [[4]] Float, both "
        "as number 11 of group 0 (default_pg): the program disagrees");
}

TEST_CASE("of two that called different operations both are named, and nobody is odd") {
  const Deadlock found =
      explain_deadlock(all_wait(), {in("0-1", "gloo:all_reduce"), in("2-3", "gloo:barrier", "[]")});
  CHECK(found.odd.empty());
  CHECK(found.conclusion ==
        "ranks 0-1 called gloo:all_reduce [[4]] Float, ranks 2-3 gloo:barrier, both as number 11 "
        "of group 0 (default_pg): the program disagrees");
}

TEST_CASE("who waits in a collective that others have left is the one to look at") {
  StackGroup past = in("2", "gloo:barrier", "[]");
  past.sequence = 12;
  const Deadlock found = explain_deadlock(all_wait(), {past, in("0-1,3", "gloo:broadcast")});
  CHECK(found.odd == RankList{0, 1, 3});
  CHECK(found.conclusion ==
        "ranks 0-1,3 still wait in gloo:broadcast, number 11 of group 0 (default_pg), which rank 2 "
        "has left: the program disagrees");
}

TEST_CASE("who waits in another group has left nobody behind") {
  StackGroup elsewhere = in("2", "gloo:barrier", "[]");
  elsewhere.group = "1 (pair)";
  elsewhere.sequence = 12;
  CHECK(explain_deadlock(all_wait(), {elsewhere, in("0-1,3", "gloo:broadcast")}).odd.empty());
}

TEST_CASE("three different operations in one place are shown, and those of few ranks are odd") {
  const Deadlock found = explain_deadlock(
      all_wait(),
      {in("0", "gloo:barrier", "[]"), in("1", "gloo:broadcast"), in("2-3", "gloo:all_reduce")});
  CHECK(found.odd == RankList{0, 1});
  CHECK_THAT(found.conclusion, contains(", all as number 11"));
}

TEST_CASE("one operation with tensors of different shapes is a disagreement where it takes one") {
  const auto with = [](const std::string& operation) {
    return explain_deadlock(all_wait(), {in("0-2", operation), in("3", operation, "[[5]] Float")});
  };
  CHECK(with("nccl:all_reduce").odd == RankList{3});
  CHECK(with("nccl:all_to_all").odd.empty());
  CHECK(with("nccl:all_to_all").conclusion.empty());
}

TEST_CASE("workers that wait for each other in two groups are shown with the ranks they wait for") {
  Suspicion why = all_wait();
  why.waits = {{"0", 11, {0, 1, 3}, {2}}, {"2", 4, {2}, {3}}};
  StackGroup sub = in("2", "gloo:all_reduce");
  sub.group = "2";
  sub.sequence = 4;
  const Deadlock found = explain_deadlock(why, {in("0-1,3", "gloo:all_reduce"), sub});
  CHECK(found.odd == RankList{2, 3});
  CHECK(found.conclusion ==
        "ranks 0-1,3 for rank 2 in gloo:all_reduce, number 11 of group 0 (default_pg), and rank 2 "
        "for rank 3 in gloo:all_reduce, number 4 of group 2");
}

TEST_CASE("who waits in the store while the others wait for it is the odd one") {
  Suspicion why = all_wait();
  why.waits = {{"0", 11, {0, 2, 3}, {1}}, {"", 0, {1}, {}}};
  const StackGroup get{.ranks = "1", .doing = "waits", .operation = "TCPStore:get"};
  const Deadlock found = explain_deadlock(why, {get, in("0,2-3", "gloo:all_reduce")});
  CHECK(found.odd == RankList{1});
  CHECK(found.conclusion ==
        "ranks 0,2-3 for rank 1 in gloo:all_reduce, number 11 of group 0 (default_pg), and rank 1 "
        "in TCPStore:get, which no rank answers");
}

TEST_CASE("of workers that all are waited for nobody is odd") {
  Suspicion why = all_wait();
  why.waiting = {0, 1};
  why.waits = {{"1", 3, {0}, {1}}, {"2", 3, {1}, {0}}};
  const Deadlock found = explain_deadlock(why, {});
  CHECK(found.odd.empty());
  CHECK(found.conclusion ==
        "rank 0 for rank 1 in a collective, number 3 of group 1, and rank 1 for rank 0 in a "
        "collective, number 3 of group 2");
}

TEST_CASE("workers in one operation, of which nobody is known to lack, have no conclusion") {
  const Deadlock found = explain_deadlock(all_wait(), {in("0-3", "gloo:all_reduce")});
  CHECK(found.odd.empty());
  CHECK(found.conclusion.empty());
}

TEST_CASE("the report of a deadlock names the odd ones first, and what most of them wait in") {
  Inspection inspection{7, all_wait(), {"a"}};
  const StackGroup most = in("0,2-3", "gloo:all_reduce");
  const StackGroup odd = in("1", "gloo:barrier", "[]");
  inspection.take("a", {7, most, false});
  inspection.take("a", {7, odd, true});
  const HangReport report = inspection.report();
  CHECK(report.kind == Kind::kDeadlock);
  CHECK(report.missing_ranks == "1");
  CHECK(report.waiting_ranks == "0,2-3");
  CHECK(report.operation == "gloo:all_reduce");
  CHECK(report.stacks == std::vector{odd, most});
  CHECK(report.sentence ==
        "all of the workers have waited for each other for 5 s: rank 1 called gloo:barrier, ranks "
        "0,2-3 gloo:all_reduce [[4]] Float, both as number 11 of group 0 (default_pg): the program "
        "disagrees");
}

}  // namespace
}  // namespace ddprun
