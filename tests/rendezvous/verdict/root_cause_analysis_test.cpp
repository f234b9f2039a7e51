#include "tests/rendezvous/verdict/root_cause_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE_METHOD(Round, "the first failure of its own is the cause") {
  raises(3, 100, "KeyError");
  exits(0, 150, 7);
  is_stopped(1, 160);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "3");
  CHECK(found.cause.node == "h1");
  CHECK(found.cause.sentence == "rank 3 on h1 raised KeyError at train.py:88 in step: message");
  CHECK(found.cause.fingerprint == "KeyError at train.py:88");
  REQUIRE(found.also.size() == 1);
  CHECK(found.also[0].ranks == "0");
  CHECK(found.also[0].status.code == 7);
}

TEST_CASE_METHOD(Round, "a reset connection is never the cause, also where it was seen first") {
  follows(0, 95, Consequence::kConnectionReset);
  follows(2, 112, Consequence::kConnectionReset);
  raises(1, 100, "KeyError");
  for (const int rank : {3, 4, 5}) is_stopped(rank, 130);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "1");
  CHECK(found.also.empty());
  REQUIRE(found.followers.size() == 2);
  CHECK(found.followers[0].ranks == "0,2");
  CHECK(found.followers[0].what == "connection reset");
  CHECK(found.followers[0].after_us == 0);
  CHECK_FALSE(found.followers[0].stopped_by_us);
  CHECK(found.followers[1].ranks == "3-5");
  CHECK(found.followers[1].after_us == 30'000);
  CHECK(found.followers[1].stopped_by_us);
}

TEST_CASE_METHOD(Round,
                 "where there are nothing but consequences, the first of them is the cause") {
  follows(4, 200, Consequence::kConnectionReset);
  follows(2, 100, Consequence::kCollectiveTimedOut);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "2");
  REQUIRE(found.followers.size() == 1);
  CHECK(found.followers[0].ranks == "4");
}

TEST_CASE_METHOD(Round, "a node that is lost is the cause of what its peers say") {
  follows(0, 90, Consequence::kConnectionClosed);
  is_stopped(1, 120);
  node_is_lost(2, 100);
  const Verdict found = verdict();
  CHECK(found.cause.kind == FailureKind::kNodeLost);
  CHECK(found.cause.ranks == "4-5");
  CHECK(found.cause.node == "h2");
  CHECK(found.cause.sentence == "node h2 was lost: silent for 5 s");
  CHECK(found.followers.size() == 2);
}

TEST_CASE_METHOD(Round, "who was stopped while it was failing is the cause if nobody else is") {
  raises(5, 100, "KeyError", Blame::kPerhaps);
  follows(0, 90, Consequence::kConnectionReset);
  CHECK(verdict().cause.ranks == "5");
  begin();
  raises(5, 100, "KeyError", Blame::kPerhaps);
  exits(0, 150, 3);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "0");
  REQUIRE(found.also.size() == 1);
  CHECK(found.also[0].ranks == "5");
}

TEST_CASE_METHOD(Round, "who crashes while it is stopped for a certain failure is no other cause") {
  const WorkerEnd crash{
      .kind = FailureKind::kSignal, .blame = Blame::kPerhaps, .status = {.signal = SIGSEGV}};
  ends(0, 160, crash);
  exits(1, 100, 3);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "1");
  CHECK(found.also.empty());
  REQUIRE(found.followers.size() == 1);
  CHECK(found.followers[0].stopped_by_us);
  begin();
  ends(0, 160, crash);
  CHECK(verdict().cause.ranks == "0");
}

TEST_CASE_METHOD(Round, "ranks that fail in the same way on any nodes are one cause") {
  for (int rank = 0; rank < 6; ++rank) raises(rank, 100 + rank, "KeyError");
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "0-5");
  CHECK(found.cause.node == "h0");
  CHECK(found.also.empty());
  CHECK(found.followers.empty());
}

TEST_CASE_METHOD(Round,
                 "a worker that failed is one with a worker that was failing in the same way") {
  raises(0, 100, "KeyError");
  raises(3, 90, "KeyError", Blame::kPerhaps);
  CHECK(verdict().cause.ranks == "0,3");
}

TEST_CASE_METHOD(Round, "an unknown signal of somebody else comes before lost connections") {
  ends(1, 110,
       {.kind = FailureKind::kSignal,
        .blame = Blame::kFollows,
        .consequence = Consequence::kForeignSignal,
        .status = {.signal = SIGTERM}});
  follows(0, 100, Consequence::kConnectionReset);
  CHECK(verdict().cause.ranks == "1");
}

TEST_CASE_METHOD(Round, "who leaves early with code 0 is the cause of what its peers say") {
  ends(1, 100, {.blame = Blame::kDone});
  follows(0, 95, Consequence::kConnectionClosed);
  is_stopped(2, 130);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "1");
  CHECK(found.cause.sentence == "rank 1 on h0 exited with code 0 while others still worked");
  CHECK_THAT(found.cause.hint, contains("uneven data"));
  CHECK_FALSE(analysis().failure_of_cause());
  REQUIRE(found.followers.size() == 2);
  CHECK(found.followers[0].ranks == "0");
}

TEST_CASE_METHOD(Round, "who has done its work is no cause where somebody fails by itself") {
  ends(1, 100, {.blame = Blame::kDone});
  exits(0, 200, 3);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "0");
  CHECK(found.also.empty());
  CHECK(found.followers.empty());
}

TEST_CASE_METHOD(Round, "a round in which workers were only stopped has no cause") {
  is_stopped(0, 100);
  is_stopped(5, 100);
  CHECK_FALSE(decide());
}

TEST_CASE_METHOD(Round, "a failure that was reported counts, also if its node is lost afterwards") {
  agent_tells(2, 100, 9);
  node_is_lost(1, 150);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "2");
  CHECK(found.cause.status.code == 9);
  CHECK(found.cause.node == "h1");
  REQUIRE(found.also.size() == 1);
  CHECK(found.also[0].kind == FailureKind::kNodeLost);
}

TEST_CASE_METHOD(Round, "an end that is reported at once and again with all others is one") {
  agent_tells(2, 100, 9);
  exits(2, 100, 9);
  const Verdict found = verdict();
  CHECK(found.cause.ranks == "2");
  CHECK(found.also.empty());
  CHECK(found.followers.empty());
}

TEST_CASE_METHOD(Round, "two signals of somebody else are told apart") {
  for (const int signal : {SIGTERM, SIGHUP})
    ends(signal == SIGTERM ? 0 : 1, 100,
         {.kind = FailureKind::kSignal,
          .blame = Blame::kFollows,
          .consequence = Consequence::kForeignSignal,
          .status = {.signal = signal}});
  CHECK(verdict().followers.size() == 1);
}

TEST_CASE_METHOD(Round, "the job ends with the failure of the cause, and not of a follower") {
  agent_tells(0, 90, 1, Consequence::kConnectionReset);
  agent_tells(3, 100, 4);
  follows(0, 90, Consequence::kConnectionReset);
  exits(3, 100, 4);
  verdict();
  REQUIRE(analysis().failure_of_cause());
  CHECK(analysis().failure_of_cause()->rank == 3);
  CHECK(analysis().failure_of_cause()->status.code == 4);
}

TEST_CASE_METHOD(Round, "a cause whose texts nobody has sent is known from its brief") {
  agent_tells(0, 90, 1, Consequence::kConnectionReset);
  follows(0, 90, Consequence::kConnectionReset);
  raises(4, 100, "KeyError");
  verdict();
  const auto failure = analysis().failure_of_cause();
  REQUIRE(failure);
  CHECK(failure->rank == 4);
  CHECK(failure->host == "h2");
  CHECK(failure->message == "KeyError: message");
}

TEST_CASE_METHOD(Round,
                 "the same root in attempt after attempt is in the report, with the steps gained") {
  raises(1, 100, "KeyError");
  CHECK(verdict().history.empty());
  begin(120);
  raises(4, 100, "KeyError");
  CHECK(verdict().history == "failed 2 times at train.py:88 with the same KeyError");
  begin(120);
  exits(0, 100, 3);
  CHECK(verdict().history.empty());
  begin(50);
  exits(0, 100, 3);
  CHECK_THAT(verdict().history, contains("failed 2 times with the same exit code 3"));
}

TEST_CASE_METHOD(Round, "steps that the last attempt gained are shown, or that there were none") {
  begin(120);
  raises(1, 100, "KeyError");
  verdict();
  begin(120);
  raises(1, 100, "KeyError");
  CHECK(verdict().history ==
        "failed 2 times at train.py:88 with the same KeyError, no step gained");
  begin(150);
  raises(1, 100, "KeyError");
  CHECK(verdict().history ==
        "failed 3 times at train.py:88 with the same KeyError, 30 steps gained");
}

TEST_CASE_METHOD(Round,
                 "a step that is reported only when the workers have ended is gained as well") {
  begin(120);
  raises(1, 100, "KeyError");
  verdict();
  begin();
  has_done(0, 150);
  raises(1, 100, "KeyError");
  CHECK_THAT(verdict().history, contains("30 steps gained"));
}

TEST_CASE_METHOD(Round, "a node that is lost again has no exit code") {
  node_is_lost(2, 100);
  verdict();
  begin();
  node_is_lost(1, 100);
  CHECK(verdict().history == "failed 2 times with the same end");
}

TEST_CASE_METHOD(Round, "a round that was stopped because of a hang has that as its cause") {
  is_stopped(0, 100);
  is_stopped(3, 100);
  HangReport hang{.sentence = "rank 3 has not reached gloo:all_reduce",
                  .operation = "gloo:all_reduce"};
  hang.missing_ranks = "3";
  hang.stacks = {{.ranks = "3", .stack = "load\t/me/t.py\t12"}};
  analysis().hung(hang);
  const Verdict found = verdict();
  CHECK(found.cause.kind == FailureKind::kHang);
  CHECK(found.cause.ranks == "3");
  CHECK(found.cause.sentence == "rank 3 has not reached gloo:all_reduce");
  CHECK(found.cause.fingerprint == "hang at t.py:12");
  REQUIRE(found.followers.size() == 1);
  CHECK(found.followers[0].ranks == "0");  // and not the cause's rank
}

TEST_CASE_METHOD(Round, "what came of a hang counts from the last end, in any order of the nodes") {
  follows(0, 200, Consequence::kCollectiveTimedOut);
  follows(2, 100, Consequence::kConnectionClosed);
  HangReport hang{.sentence = "rank 1 has not come"};
  hang.missing_ranks = "1";
  analysis().hung(hang);
  const Verdict found = verdict();
  CHECK(found.cause.node == "h0");
  REQUIRE(found.followers.size() == 2);
  for (const Followers& followers : found.followers) CHECK(followers.after_us == 0);
}

TEST_CASE_METHOD(Round,
                 "a hang that was reported is the cause of ranks that give up to wait, only") {
  is_stopped(3, 100);
  HangReport hang{.sentence = "rank 3 has not come"};
  hang.missing_ranks = "3";
  analysis().hung_before(hang);
  SECTION("a collective's time is over") {
    follows(0, 90, Consequence::kCollectiveTimedOut);
    const Verdict found = verdict();
    CHECK(found.cause.kind == FailureKind::kHang);
    CHECK(found.cause.ranks == "3");
    REQUIRE_FALSE(found.followers.empty());
    CHECK(found.followers[0].ranks == "0");
  }
  SECTION("somebody fails by itself") {
    raises(1, 90, "KeyError");
    CHECK(verdict().cause.ranks == "1");
  }
  SECTION("somebody else ends a rank") {
    ends(1, 90,
         {.kind = FailureKind::kSignal,
          .blame = Blame::kFollows,
          .consequence = Consequence::kForeignSignal,
          .status = {.signal = SIGTERM}});
    CHECK(verdict().cause.ranks == "1");
  }
  SECTION("the next round knows nothing of it") {
    begin();
    follows(0, 90, Consequence::kCollectiveTimedOut);
    CHECK(verdict().cause.ranks == "0");
  }
}

TEST_CASE_METHOD(Round, "who is done closes its connections seconds before it is gone") {
  ends(1, 5'000, {.blame = Blame::kDone});
  follows(0, 95, Consequence::kConnectionClosed);
  CHECK(verdict().cause.ranks == "1");
}

TEST_CASE_METHOD(Round, "reports of other rounds and of strangers change nothing") {
  analysis().ended("node0", WorkersEnded{99, -1, {WorkerEnd{.ranks = "0", .blame = Blame::kOwn}}});
  analysis().ended("stranger",
                   WorkersEnded{1, -1, {WorkerEnd{.ranks = "0", .blame = Blame::kOwn}}});
  analysis().lost("stranger", "gone", TimePoint{}, false);
  CHECK_FALSE(decide());
}

TEST_CASE_METHOD(Round, "however many ends differ, what is kept of them is bounded") {
  for (int i = 0; i < 500; ++i) {
    WorkerEnd end{.ranks = "0", .blame = Blame::kOwn, .status = {.code = 1 + i % 200}};
    end.fault.message = std::string(static_cast<std::size_t>(1 + i / 200), 'x');
    analysis().ended("node0", WorkersEnded{1, -1, {end}});
  }
  const Verdict found = verdict();
  CHECK(found.also.size() <= kOtherCausesMax);
  CHECK(found.followers.size() <= kFollowersMax);
}

}  // namespace
}  // namespace ddprun
