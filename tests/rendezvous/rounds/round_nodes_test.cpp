// CoordinatorMachine and nodes that were the cause of failures.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// A job that leaves out nodes with two strikes; what is remembered of nodes is known at once.
class NodesFixture : public RoundFixture {
 protected:
  void job_of(int nodes_min, int nodes_max) {
    job({.nodes_min = nodes_min,
         .nodes_max = nodes_max,
         .restarts_max = 100,
         .last_call_timeout = 30s,
         .node_policy = {.strikes = 2, .window_ms = 3'600'000}});
  }
  /// Answers the question of what is remembered of nodes, which was asked.
  void recalls(std::optional<std::vector<NodeFailure>> failures = std::nullopt) {
    const auto asked = did<RecallNodes>();
    REQUIRE(asked);
    step(NodesRecalled{asked->question, std::move(failures)});
  }
  std::vector<NodeFailure> strikes_of(const std::string& host, int count = 2) const {
    return std::vector<NodeFailure>(count, {.host = host, .at = now_, .fingerprint = "of " + host});
  }
  /// The worker of that rank fails at that line; all nodes stop theirs, and the history is asked.
  void fails_at(const NodeId& node, int line, const std::vector<NodeId>& members) {
    const StartRound begun = order<StartRound>(node).value_or(StartRound{.round = round_});
    WorkerFailed report = failed(round_, begun.first_rank, {.code = 1});
    report.end.kind = FailureKind::kException;
    report.end.fault = {"ValueError", "bad", "train.py", line, "load"};
    says(node, report);
    for (const NodeId& member : members) says(member, WorkersStopped{round_});
    ++round_;
  }
  bool takes_part(const NodeId& node) {
    const auto start = order<StartRound>(node);
    return start && start->round == round_;
  }

  int round_ = 1;
};

TEST_CASE_METHOD(NodesFixture, "a node that fails again and again leaves its place to a spare") {
  job_of(2, 2);
  joins("a");
  recalls();
  joins("b");
  joins("c");
  order<Spare>("c");
  for (int i = 0; i < 2; ++i) {
    fails_at("b", 10 + i, {"a", "b"});
    CHECK(did<RememberNode>()->failure.host == "b");
    recalls();
  }
  CHECK(takes_part("c"));
  CHECK_FALSE(takes_part("b"));
  CHECK(ordered<Spare>("b").objection == "caused 2 failures within 1h (--node-strikes 2)");
}

TEST_CASE_METHOD(NodesFixture, "all nodes learn which one is left out") {
  job_of(2, 2);
  joins("a");
  recalls(strikes_of("b"));
  joins("b");
  joins("c");
  CHECK(start("a").node_note ==
        "without node b, which caused 2 failures within 1h (--node-strikes 2)");
  CHECK(takes_part("c"));
}

TEST_CASE_METHOD(NodesFixture, "a bug that fails on changing nodes strikes none") {
  job_of(3, 3);
  joins("a");
  recalls();
  for (const char* const node : {"b", "c"}) joins(node);
  for (int i = 0; i < 4; ++i)
    for (const char* const node : {"a", "b", "c"}) {
      fails_at(node, 88, {"a", "b", "c"});
      recalls();
      const StartRound begun = start("a");
      CHECK(begun.group_world_size == 3);
      CHECK(begun.node_note.empty());
    }
}

TEST_CASE_METHOD(NodesFixture, "a failure of ranks on several nodes is nobody's") {
  job_of(2, 2);
  joins("a");
  recalls();
  joins("b");
  WorkerFailed report = failed(1, 0, {.code = 1});
  says("a", report);
  report.failure.rank = 1;
  report.end.ranks = "1";
  says("b", report);
  for (const char* const node : {"a", "b"}) says(node, WorkersStopped{1});
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "in a job of one node no failure is the node's, and nothing waits") {
  job_of(1, 1);
  joins("a");
  CHECK_FALSE(did<RecallNodes>());
  REQUIRE(takes_part("a"));
  fails_at("a", 10, {"a"});
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "a struck node whose rank nobody else can have is not waited for") {
  job_of(2, 2);
  joins("a", 1, 0);
  recalls(strikes_of("b"));
  joins("b", 1, 1);
  CHECK(takes_part("b"));
}

TEST_CASE_METHOD(NodesFixture,
                 "a spare that has announced its end does not replace a struck node") {
  job_of(2, 2);
  joins("a");
  recalls();
  for (const char* const node : {"b", "c"}) joins(node);
  REQUIRE(takes_part("b"));
  says("c", Preempt{"SIGTERM", 1'000});
  for (int i = 0; i < 2; ++i) {
    fails_at("b", 10 + i, {"a", "b"});
    recalls();
    CHECK(takes_part("b"));
  }
  CHECK_FALSE(order<EndJob>("a"));
}

TEST_CASE_METHOD(NodesFixture,
                 "a worker that crashes when it is stopped for a newcomer strikes none") {
  job_of(2, 3);
  joins("a");
  recalls();
  joins("b");
  passes_beating(30s, {"a", "b"});
  REQUIRE(takes_part("b"));
  joins("c");
  WorkerEnd crash{.ranks = "1", .kind = FailureKind::kSignal, .blame = Blame::kPerhaps};
  crash.status.signal = 11;
  says("b", WorkersEnded{.round = 1, .ends = {crash}});
  for (const char* const node : {"a", "b"}) says(node, WorkersStopped{1});
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "nodes that vanish together are not to blame") {
  job_of(2, 2);
  joins("a");
  recalls();
  joins("b");
  REQUIRE(takes_part("a"));
  passes(1min);
  CHECK_FALSE(machine_->has_nodes());
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "a struck node that inherits a rank has its strikes all the same") {
  job_of(1, 2);
  joins("a", 1, 0);
  recalls(strikes_of("c"));
  joins("b");
  REQUIRE(takes_part("a"));
  joins("c", 1, 0);  // as long as a may be dead
  is_lost("a");
  says("b", WorkersStopped{1});
  recalls(strikes_of("c"));
  CHECK(start("b").group_world_size == 1);
  CHECK_FALSE(order<StartRound>("c"));
}

TEST_CASE_METHOD(NodesFixture, "a node that is forgiven while a round runs joins it") {
  job_of(1, 2);
  joins("a");
  REQUIRE(did<RecallNodes>());
  joins("b");
  step(NodesRecalled{1, strikes_of("b")});
  passes_beating(30s, {"a", "b"});
  REQUIRE(takes_part("a"));
  CHECK_FALSE(order<StopRound>("a"));
  step(NodesRecalled{1, std::vector<NodeFailure>{}});
  CHECK(order<StopRound>("a"));
}

TEST_CASE_METHOD(NodesFixture,
                 "a node that is lost is remembered, one that leaves in order is not") {
  job_of(2, 3);
  joins("a");
  recalls();
  for (const char* const node : {"b", "c"}) joins(node);
  is_lost("b");
  for (const char* const node : {"a", "c"}) says(node, WorkersStopped{1});
  CHECK(did<RememberNode>()->failure.kind == FailureKind::kNodeLost);
  recalls();
  says("c", Leave{"SIGTERM"});
  says("a", WorkersStopped{2});
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "the end that a scheduler announces is no node's failure") {
  job_of(2, 2);
  joins("a");
  recalls();
  joins("b");
  says("a", Preempt{"SIGTERM", 1'000});
  fails_at("b", 10, {"a", "b"});
  CHECK_FALSE(did<RememberNode>());
}

TEST_CASE_METHOD(NodesFixture, "a struck node takes part where others are too few") {
  job_of(2, 3);
  joins("a");
  recalls(strikes_of("b"));
  joins("b");
  CHECK_FALSE(order<StartRound>("b"));
  passes_beating(30s, {"a", "b"});
  CHECK(start("b").node_note ==
        "with node b, which caused 2 failures within 1h (--node-strikes 2): too few others are "
        "there");
}

TEST_CASE_METHOD(NodesFixture, "the first round waits for a sound node in place of a struck one") {
  job_of(1, 2);
  joins("b");
  recalls(strikes_of("b"));
  joins("a");
  passes_beating(29s, {"a", "b"});
  CHECK_FALSE(order<StartRound>("a"));
  CHECK(ordered<Waiting>("a").objected == 1);
  joins("c");
  CHECK(takes_part("a"));
  CHECK(takes_part("c"));
  CHECK_FALSE(takes_part("b"));
}

TEST_CASE_METHOD(NodesFixture, "a struck node that joins later stops no round") {
  job_of(1, 3);
  joins("a");
  recalls(strikes_of("b"));
  passes_beating(30s, {"a"});
  REQUIRE(takes_part("a"));
  joins("b");
  CHECK_FALSE(order<StopRound>("a"));
  CHECK_FALSE(ordered<Spare>("b").objection.empty());
  joins("c");
  CHECK(order<StopRound>("a"));
}

TEST_CASE_METHOD(NodesFixture, "strikes that were forgiven meanwhile do not count") {
  job_of(2, 2);
  joins("a");
  recalls(strikes_of("b"));
  for (const char* const node : {"b", "c"}) joins(node);
  REQUIRE(takes_part("c"));
  fails_at("c", 10, {"a", "c"});
  recalls(std::vector<NodeFailure>{});
  is_lost("c");
  for (const char* const node : {"a"}) says(node, WorkersStopped{round_});
  recalls(std::vector<NodeFailure>{});
  CHECK(start("b").node_note.empty());
}

TEST_CASE_METHOD(NodesFixture, "a round waits for what is remembered, but not for long") {
  job_of(2, 2);
  joins("a");
  REQUIRE(did<RecallNodes>());
  joins("b");
  CHECK_FALSE(order<StartRound>("a"));
  passes(kRecallTimeout);
  CHECK(order<StartRound>("a"));
}

TEST_CASE_METHOD(NodesFixture, "nothing is asked or kept where no strikes count") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 9});
  joins("a");
  joins("b");
  REQUIRE(takes_part("a"));
  fails_at("b", 10, {"a", "b"});
  CHECK_FALSE(did<RememberNode>());
  CHECK_FALSE(did<RecallNodes>());
}

/// A job in which no strikes count, and nodes look at themselves.
class CheckedNodes : public RoundFixture {
 protected:
  void job_of(int nodes_min, int nodes_max) {
    job({.nodes_min = nodes_min,
         .nodes_max = nodes_max,
         .restarts_max = 100,
         .last_call_timeout = 30s});
  }
  void joins_sick(const NodeId& node) {
    Join join = join_of(node, 1);
    join.unfit = "is sick";
    says(node, join);
  }
  void restarts(const std::vector<NodeId>& members) {
    says(members.front(), failed(1, 0, {.code = 1}));
    for (const NodeId& member : members) {
      CHECK(order<StopRound>(member));
      says(member, WorkersStopped{1});
    }
  }
  bool takes_part(const NodeId& node, int round) {
    const auto start = order<StartRound>(node);
    return start && start->round == round;
  }
};

TEST_CASE_METHOD(CheckedNodes, "a node that is not fit leaves its place in the first round") {
  job_of(2, 2);
  joins("a");
  joins_sick("b");
  CHECK_FALSE(order<StartRound>("a"));
  joins("c");
  CHECK(start("a").node_note == "without node b, which is sick");
  CHECK(takes_part("c", 1));
  CHECK(ordered<Spare>("b").objection == "is sick");
}

TEST_CASE_METHOD(CheckedNodes, "where nobody else comes, a node that is not fit takes part") {
  job_of(2, 2);
  joins("a");
  joins_sick("b");
  passes_beating(30s, {"a", "b"});
  CHECK(start("a").node_note == "with node b, which is sick: too few others are there");
  CHECK(takes_part("b", 1));
}

TEST_CASE_METHOD(CheckedNodes, "a node that falls sick in a round leaves its place to a spare") {
  job_of(2, 2);
  for (const char* const node : {"a", "b", "c"}) joins(node);
  CHECK(takes_part("b", 1));
  says("b", Fitness{"is sick"});
  restarts({"a", "b"});
  CHECK(takes_part("c", 2));
  CHECK_FALSE(takes_part("b", 2));
  SECTION("well again, it is a spare: the round is full") {
    order<Spare>("b");
    says("b", Fitness{""});
    CHECK(ordered<Spare>("b").objection.empty());
    CHECK_FALSE(order<StopRound>("a"));
  }
}

TEST_CASE_METHOD(CheckedNodes, "a node that is well again joins a round that has a place for it") {
  job_of(1, 2);
  joins_sick("b");
  joins("a");
  passes_beating(30s, {"a", "b"});
  CHECK(takes_part("a", 1));
  CHECK_FALSE(takes_part("b", 1));
  says("b", Fitness{"is sick"});
  CHECK_FALSE(order<StopRound>("a"));
  says("b", Fitness{""});
  CHECK(ordered<StopRound>("a").reason == "node b joined");
}

TEST_CASE_METHOD(CheckedNodes, "nodes have the time for their look before they are given up") {
  job_of(2, 2);
  Join join = join_of("b", 1);
  join.check_ms = 600'000;
  joins("a");
  says("b", join);
  CHECK(takes_part("b", 1));
  says("a", failed(1, 0, {.code = 1}));
  says("a", WorkersStopped{1});
  passes_beating(600s, {"a", "b"});
  says("b", WorkersStopped{1});
  CHECK(takes_part("b", 2));
}

}  // namespace
}  // namespace ddprun
