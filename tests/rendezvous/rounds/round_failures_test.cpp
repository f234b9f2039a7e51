// CoordinatorMachine and a failure that only follows from another one: it waits for the cause.
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr Consequence kLostPeer = Consequence::kConnectionClosed;
constexpr Consequence kInVain = Consequence::kCollectiveTimedOut;
constexpr Consequence kOwn = Consequence::kNone;

/// Two nodes of two workers each; ranks 0 and 1 are on a, 2 and 3 on b.
class FailuresFixture : public RoundFixture {
 protected:
  void runs(int restarts_max = 0) {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = restarts_max, .hang_timeout = 600s});
    for (const NodeId node : {"a", "b"}) joins_knowing_all(node, 2);
  }
  void fails(int rank, Consequence consequence, int left, int round = 1) {
    WorkerFailed report = failed(round, rank, {.code = 1}, consequence);
    report.left = left;
    says(rank < 2 ? "a" : "b", report);
  }
  std::string stopped_because() {
    const auto stop = order<StopRound>("a");
    return stop ? stop->reason : "";
  }
};

TEST_CASE_METHOD(FailuresFixture,
                 "a worker that has lost a peer stops the round when no cause is reported") {
  runs();
  fails(0, kLostPeer, 1);
  passes_beating(1900ms, {"a", "b"});
  CHECK(stopped_because().empty());
  passes(100ms);
  CHECK(stopped_because() == "rank 0 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "a cause that is reported meanwhile stops the round at once") {
  runs();
  fails(0, kLostPeer, 1);
  fails(3, kOwn, 1);
  CHECK(stopped_because() == "rank 3 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "an exception that is known stands in the reason") {
  runs();
  WorkerFailed report = failed(1, 3, {.code = 4});
  report.end.fault = {"ValueError", "bad shard 17", "/me/train.py", 3, "load"};
  says("b", report);
  CHECK(stopped_because() ==
        "rank 3 exited with code 4: ValueError at train.py:3 in load: bad shard 17");
}

TEST_CASE_METHOD(FailuresFixture,
                 "another worker that has lost a peer neither stops it nor delays it") {
  runs();
  fails(0, kLostPeer, 1);
  passes_beating(1000ms, {"a", "b"});
  fails(2, kLostPeer, 1);
  CHECK(stopped_because().empty());
  passes(1000ms);
  CHECK(stopped_because() == "rank 0 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "no cause is waited for once nobody is left who could tell it") {
  runs();
  fails(0, kLostPeer, 1);
  fails(2, kLostPeer, 0);
  CHECK(stopped_because().empty());
  fails(0, kLostPeer, 0);
  CHECK(stopped_because() == "rank 0 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "nobody is left either when the other nodes have finished") {
  runs();
  fails(0, kLostPeer, 0);
  CHECK(stopped_because().empty());
  says("b", WorkersFinished{1});
  CHECK(stopped_because() == "rank 0 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "who waited in vain makes the nodes look who is missing") {
  runs();
  fails(0, kLostPeer, 1);
  CHECK_FALSE(order<Inspect>("b"));
  fails(3, kInVain, 1);
  CHECK(order<Inspect>("b"));
  CHECK(stopped_because().empty());
  passes_beating(kInspectionTimeout, {"a", "b"});
  CHECK(stopped_because() == "rank 3 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "a cause also ends the look at who is missing") {
  runs();
  fails(3, kInVain, 1);
  fails(0, kLostPeer, 1);
  CHECK(stopped_because().empty());
  fails(1, kOwn, 0);
  CHECK(stopped_because() == "rank 1 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture, "what the agent has judged counts, and no sentence does") {
  runs();
  WorkerFailed report = failed(1, 0, {.code = 1}, kLostPeer);
  report.end.says = "anything";
  report.failure.last_lines = {"ValueError: the loss is NaN"};
  says("a", report);
  CHECK(stopped_because().empty());
  report = failed(1, 3);
  report.end.says = "connection closed by peer";
  report.failure.last_lines = {"RuntimeError: Connection closed by peer"};
  says("b", report);
  CHECK(stopped_because() == "rank 3 exited with code 1");
}

TEST_CASE_METHOD(FailuresFixture,
                 "a node that is lost is the cause, and does not count as a restart") {
  runs(1);
  fails(0, kLostPeer, 1);
  is_lost("b");
  const auto stop = ordered<StopRound>("a");
  CHECK(stop.reason == "node b lost: connection closed");
  CHECK(stop.attempt == 0);
}

TEST_CASE_METHOD(FailuresFixture, "the next round begins with all workers again") {
  runs(1);
  fails(0, kLostPeer, 0);
  fails(2, kLostPeer, 0);
  CHECK_FALSE(stopped_because().empty());
  for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{1});
  REQUIRE(start("a").round == 2);
  fails(0, kLostPeer, 1, 2);
  CHECK(stopped_because().empty());
}

}  // namespace
}  // namespace ddprun
