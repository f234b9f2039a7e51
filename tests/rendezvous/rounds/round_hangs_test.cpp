// What CoordinatorMachine does when workers hang: whom it asks, what it tells, and how the job goes
// on.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes with two workers each. Rank 1 sleeps, the others wait in collective 12.
class HangFixture : public RoundFixture {
 protected:
  void hangs(OnHang on_hang, int restarts_max = 0) {
    job({.nodes_min = 2,
         .nodes_max = 2,
         .restarts_max = restarts_max,
         .hang_timeout = 3s,
         .on_hang = on_hang});
    for (const NodeId node : {"a", "b"}) {
      Join join = join_of(node, 2);
      says(node, join);
    }
    begin(1);
    passes_beating(3s, {"a", "b"});
  }
  void begin(int round) {
    says("a", Progress{round, {at(0, 12), at(1, 11)}});
    says("b", Progress{round, {at(2, 12), at(3, 12)}});
  }
  static RankProgress at(int rank, std::int64_t enqueued, std::int64_t completed = 11) {
    return {.rank = rank, .watched = true, .groups = {{"0", enqueued, completed}}};
  }
  void answers(const NodeId& node, const std::string& ranks, const std::string& doing) {
    says(node, Inspected{1, {.ranks = ranks, .doing = doing}, true});
  }
  void both_answer() {
    answers("a", "1", "sleeps");
    answers("b", "2-3", "waits");
    passes(0s);
  }
};

TEST_CASE_METHOD(HangFixture, "when workers hang every node is asked, and then told") {
  hangs(OnHang::kReport);
  const auto question = ordered<Inspect>("a");
  CHECK(question == Inspect{1, 1, false, "1"});
  CHECK(ordered<Inspect>("b") == question);
  answers("a", "1", "sleeps");
  CHECK_FALSE(order<HangFound>("a"));
  answers("b", "2-3", "waits");
  const auto found = ordered<HangFound>("a");
  CHECK(found.report.missing_ranks == "1");
  CHECK(found.report.waiting_ranks == "0,2-3");
  CHECK(found.report.stacks.size() == 2);
  CHECK(ordered<HangFound>("b") == found);
  CHECK(machine_->observers().watch().hang() == found.report);
  CHECK_FALSE(order<StopRound>("a"));
}

TEST_CASE_METHOD(HangFixture, "a node that does not answer keeps the report waiting for a moment") {
  hangs(OnHang::kReport);
  answers("a", "1", "sleeps");
  passes_beating(kInspectionTimeout - 1ms, {"a", "b"});
  CHECK_FALSE(order<HangFound>("a"));
  passes(1ms);
  CHECK(ordered<HangFound>("a").report.stacks.size() == 1);
}

TEST_CASE_METHOD(HangFixture, "a hang is reported once, and its end") {
  hangs(OnHang::kReport);
  both_answer();
  CHECK(order<HangFound>("a"));
  passes_beating(60s, {"a", "b"});
  CHECK_FALSE(order<HangFound>("a"));
  CHECK_FALSE(order<HangOver>("a"));
  says("a", Progress{1, {at(0, 12, 12), at(1, 12, 12)}});
  passes_beating(1s, {"a", "b"});
  CHECK(ordered<HangOver>("a").lasted_ms >= 63'000);
  passes_beating(2s, {"a", "b"});
  CHECK_FALSE(order<HangOver>("a"));
  CHECK_FALSE(machine_->observers().watch().hang());
}

TEST_CASE_METHOD(HangFixture, "a hang may count as a failure, and then a restart follows") {
  hangs(OnHang::kRestart, 1);
  CHECK(ordered<Inspect>("a").stopping);
  both_answer();
  CHECK(order<HangFound>("a"));
  CHECK(ordered<StopRound>("a").attempt == 1);
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  CHECK(start("a").attempt == 1);
  begin(2);
  passes_beating(3s, {"a", "b"});
  CHECK(ordered<Inspect>("a") == Inspect{2, 2, true, "1"});
}

TEST_CASE_METHOD(HangFixture,
                 "the ranks that a hanging round waits for are the reason of its stop") {
  hangs(OnHang::kRestart, 1);
  both_answer();
  CHECK(ordered<StopRound>("a").reason == "the workers hang because of rank 1");
}

TEST_CASE_METHOD(HangFixture, "where workers can stay, those that hang are not waited for") {
  hangs(OnHang::kRestart, 1);
  for (const NodeId node : {"a", "b"}) says(node, WorkersStay{1, true});
  both_answer();
  const auto at_a = ordered<StopRound>("a");
  CHECK(at_a.keep);
  CHECK(at_a.evict == "1");
  CHECK(ordered<StopRound>("b").evict.empty());
}

TEST_CASE_METHOD(HangFixture, "where workers cannot stay, all of them have the time to end") {
  hangs(OnHang::kRestart, 1);
  both_answer();
  CHECK(ordered<StopRound>("a").evict.empty());
}

TEST_CASE_METHOD(HangFixture, "a hang ends the job when no restart is left") {
  hangs(OnHang::kRestart);
  both_answer();
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == JobOutcome::kHung);
  CHECK_FALSE(end.failure);
}

TEST_CASE_METHOD(HangFixture, "a hang ends the job at once where the user wants that") {
  hangs(OnHang::kStop, 5);
  both_answer();
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  CHECK(ordered<EndJob>("a").outcome == JobOutcome::kHung);
}

TEST_CASE_METHOD(HangFixture, "a node that is lost meanwhile keeps nobody waiting") {
  hangs(OnHang::kReport);
  answers("a", "1", "sleeps");
  is_lost("b");
  CHECK(ordered<StopRound>("a").reason == "node b lost: connection closed");
  CHECK_FALSE(order<HangFound>("a"));
}

/// The same two nodes, in which nobody is known to hang.
class TimedOutFixture : public HangFixture {
 protected:
  void runs(int restarts_max = 0) {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = restarts_max, .hang_timeout = 600s});
    for (const NodeId node : {"a", "b"}) joins_knowing_all(node, 2);
    begin(1);
  }
  void fails(Consequence consequence) { says("b", failed(1, 2, {.code = 1}, consequence)); }
  static StackGroup group(const std::string& ranks, const std::string& operation,
                          const std::string& stack = "load\ttrain.py\t7\n") {
    return {.ranks = ranks, .doing = "is", .stack = stack, .operation = operation};
  }
  void tells(const NodeId& node, StackGroup what) {
    says(node, Inspected{1, std::move(what), true});
    passes(0s);
  }
};
constexpr Consequence kWaitedInVain = Consequence::kCollectiveTimedOut;

TEST_CASE_METHOD(TimedOutFixture, "who waits in vain is stopped once it is known who is missing") {
  runs();
  fails(kWaitedInVain);
  CHECK(ordered<Inspect>("a") == Inspect{1, 1, true, ""});
  CHECK_FALSE(order<StopRound>("a"));
  tells("b", {.ranks = "2", .held_up = HeldUp::kFailed});
  says("a", Inspected{1, group("0", "gloo:all_reduce"), false});
  tells("a", group("1", ""));
  const HangReport report = ordered<HangFound>("a").report;
  CHECK(report.sentence ==
        "rank 1 has not reached gloo:all_reduce, in which ranks 0,2 have waited "
        "in vain");
  CHECK(ordered<StopRound>("a").reason == "rank 2 exited with code 1");
  WorkerEnd gave_up{.ranks = "2", .blame = Blame::kFollows, .status = {.code = 1}};
  gave_up.consequence = kWaitedInVain;
  says("b", WorkersEnded{1, -1, {gave_up}});
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  const Cause cause = ordered<VerdictFound>("a").verdict.cause;
  CHECK(cause.kind == FailureKind::kHang);
  CHECK(cause.ranks == "1");
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == JobOutcome::kFailed);
  REQUIRE(end.failure);
  CHECK(end.failure->rank == 2);
}

TEST_CASE_METHOD(TimedOutFixture, "who gave up in the store has the missing ones asked for, too") {
  runs();
  fails(Consequence::kStoreTimedOut);
  CHECK(order<Inspect>("a"));
  tells("b", {.ranks = "2", .held_up = HeldUp::kFailed});
  says("a", Inspected{1, group("0", "the store"), false});
  tells("a", group("1", ""));
  CHECK(ordered<HangFound>("a").report.sentence ==
        "rank 1 has not reached the store, in which ranks 0,2 have waited in vain");
}

TEST_CASE_METHOD(TimedOutFixture,
                 "of several ranks that seem to be missing, some may be giving up") {
  runs(1);
  fails(kWaitedInVain);
  tells("b", {.ranks = "2", .held_up = HeldUp::kGaveUp});
  tells("a", group("0-1", ""));
  CHECK_FALSE(order<HangFound>("a"));
  SECTION("which a second look tells") {
    passes_beating(kSecondLookAfter, {"a", "b"});
    CHECK(ordered<Inspect>("a") == Inspect{1, 2, true, ""});
    says("b", Inspected{2, {.ranks = "2", .held_up = HeldUp::kGaveUp}, true});
    says("a", Inspected{2, {.ranks = "0", .held_up = HeldUp::kGaveUp}, true});
    passes(0s);
    CHECK(ordered<HangFound>("a").report.missing_ranks == "1");
    CHECK(order<StopRound>("a"));
  }
  SECTION("unless a failure of its own stops the round before") {
    says("a", failed(1, 0, {.code = 3}));
    CHECK(ordered<StopRound>("a").reason == "rank 0 exited with code 3");
  }
  SECTION("unless a node is lost before") {
    is_lost("b");
    CHECK(ordered<StopRound>("a").reason == "node b lost: connection closed");
  }
}

TEST_CASE_METHOD(TimedOutFixture, "who does not answer is not called missing") {
  runs(1);
  fails(kWaitedInVain);
  tells("a", group("0-1", "", ""));
  passes_beating(kInspectionTimeout, {"a", "b"});
  CHECK_FALSE(order<HangFound>("a"));
  CHECK(ordered<StopRound>("a").attempt == 1);
}

TEST_CASE_METHOD(TimedOutFixture, "a failure of another kind stops the round at once") {
  runs();
  fails(Consequence::kNone);
  CHECK_FALSE(order<Inspect>("a"));
  CHECK(order<StopRound>("a"));
}

TEST_CASE_METHOD(TimedOutFixture, "a node that is lost meanwhile stops the round at once") {
  runs(1);
  fails(kWaitedInVain);
  is_lost("b");
  CHECK(ordered<StopRound>("a").reason == "node b lost: connection closed");
  CHECK_FALSE(order<HangFound>("a"));
}

TEST_CASE_METHOD(HangFixture, "nobody tells of the ranks of another node") {
  job({.nodes_min = 2, .nodes_max = 2, .hang_timeout = 3s});
  joins("a", 2);
  joins("b", 2);
  says("b", Progress{1, {at(0, 12), at(1, 11), at(2, 12)}});
  says("a", Progress{2, {at(1, 11)}});  // progress of another round
  CHECK(machine_->observers().watch().progress().ranks().size() == 1);
}

}  // namespace
}  // namespace ddprun
