// CoordinatorMachine and the verdict: what agents tell of their workers' ends comes back as one
// verdict for all of them.
#include <csignal>

#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class VerdictFixture : public RoundFixture {
 protected:
  VerdictFixture() { begin(0); }

  void begin(int restarts) {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = restarts, .join_timeout = 20s});
    for (const char* node : {"a", "b"}) says(node, join_of(node, 2));
  }
  void tells_end(const NodeId& node, int round, WorkerEnd end, std::int64_t ms) {
    end.began_us = end.ended_us = ms * 1000;
    says(node, WorkersEnded{round, -1, {end}});
  }
  /// At once, and with all others of its node.
  void tells_failure(const NodeId& node, int round, WorkerEnd end, std::int64_t ms) {
    end.began_us = end.ended_us = ms * 1000;
    WorkerFailed report = failed(round, std::stoi(end.ranks), end.status);
    report.end = end;
    says(node, report);
    tells_end(node, round, end, ms);
  }
  void all_stop(int round) {
    for (const char* node : {"a", "b"}) says(node, WorkersStopped{round});
  }
  static WorkerEnd lost_connection(const std::string& rank) {
    WorkerEnd end{.ranks = rank, .blame = Blame::kFollows, .status = {.code = 1}};
    end.consequence = Consequence::kConnectionReset;
    return end;
  }
  static WorkerEnd own(const std::string& rank, int code) {
    return {.ranks = rank, .blame = Blame::kOwn, .status = {.code = code}};
  }
};

TEST_CASE_METHOD(VerdictFixture, "all nodes hear who was the cause, before they hear of the end") {
  tells_failure("a", 1, lost_connection("0"), 90);
  tells_failure("b", 1, own("3", 7), 100);
  CHECK_FALSE(order<VerdictFound>("a"));
  all_stop(1);
  for (const char* node : {"a", "b"}) {
    const Verdict verdict = ordered<VerdictFound>(node).verdict;
    CHECK(verdict.cause.ranks == "3");
    CHECK(verdict.cause.node == "b");
    REQUIRE(verdict.followers.size() == 1);
    CHECK(verdict.followers[0].ranks == "0");
    const EndJob end = ordered<EndJob>(node);
    REQUIRE(end.failure);
    CHECK(end.failure->rank == 3);
    CHECK(end.failure->status.code == 7);
  }
}

TEST_CASE_METHOD(VerdictFixture, "if the next attempt has the same cause, the report says so") {
  begin(1);
  for (const int round : {1, 2}) {
    tells_failure("a", round, own("0", 5), 100);
    CHECK_FALSE(order<VerdictFound>("b"));
    all_stop(round);
  }
  CHECK(ordered<VerdictFound>("b").verdict.history == "failed 2 times with the same exit code 5");
}

TEST_CASE_METHOD(VerdictFixture, "a job that is short of nodes ends with the node that it lost") {
  is_lost("b");
  says("a", WorkersStopped{1});
  passes_beating(20s, {"a"});
  const Verdict verdict = ordered<VerdictFound>("a").verdict;
  CHECK(verdict.cause.kind == FailureKind::kNodeLost);
  CHECK(verdict.cause.ranks == "2-3");
  CHECK(verdict.cause.node == "b");
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kTooFewNodes);
}

TEST_CASE_METHOD(VerdictFixture, "a node that is lost silently was lost when it was last heard") {
  passes_beating(3s, {"a", "b"});
  passes_beating(3s, {"a"});
  tells_failure("a", 1, own("0", 5), 5000);
  says("a", WorkersStopped{1});
  passes_beating(4s, {"a"});
  const Verdict verdict = ordered<VerdictFound>("a").verdict;
  CHECK(verdict.cause.kind == FailureKind::kNodeLost);
  REQUIRE(verdict.also.size() == 1);
  CHECK(verdict.also[0].ranks == "0");
}

TEST_CASE_METHOD(VerdictFixture,
                 "a job that ends well has no verdict, nor has one that is preempted") {
  for (const char* node : {"a", "b"}) says(node, WorkersFinished{1});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFinished);
  CHECK_FALSE(order<VerdictFound>("a"));
  begin(0);
  says("a", Preempt{"SIGTERM", 1000});
  tells_end("a", 1, own("0", 5), 100);
  all_stop(1);
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kPreempted);
  CHECK_FALSE(order<VerdictFound>("a"));
}

TEST_CASE_METHOD(VerdictFixture, "a beat is answered with its own time and the coordinator's") {
  passes_beating(2s, {"a", "b"});
  says("a", Beat{.clock_us = 4711});
  const Beat answer = ordered<Beat>("a");
  CHECK(answer.echo_us == 4711);
  CHECK(answer.clock_us == microseconds(now_));
}

}  // namespace
}  // namespace ddprun
