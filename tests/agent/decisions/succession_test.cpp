// AgentMachine when the coordinator is lost, and another agent may follow it.
#include <algorithm>
#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// An agent with one worker in round 4 of three nodes, of a coordinator with two successors. The
// heartbeat timeout is 5 s.
class FollowerFixture : protected MachineFixture {
 protected:
  explicit FollowerFixture(FindSuccessor how = FindSuccessor::kAmongNodes,
                           const char* found_at = "")
      : MachineFixture{rules(how)} {
    now_ += 1h;
    step(AgentBegins{});
    step(Connected{now_, found_at});
    step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1, .epoch = 1}});
    step(Ordered{StartRound{.round = 4,
                            .group_world_size = 3,
                            .epoch = 1,
                            .lease_ms = 4'000,
                            .successors = {{"h1:1", 1}, {"h2:1", 2}},
                            .leader_rank = 0}});
    took<StartWorkers>();
    took<ReachCoordinator>();
  }
  /// The coordinator answers the beat of this moment, and grants a lease of that length.
  void answered(std::int64_t lease_ms) {
    step(Ordered{Beat{.clock_us = 5, .echo_us = microseconds(now_), .lease_ms = lease_ms}});
  }
  void worker_ends() {
    step(WorkerExited{WorkerFailure{.status = {.signal = SIGTERM}}});
    step(TreeGone{});
  }
  /// The coordinator's process is gone, and the worker as well.
  void loses_head() {
    step(CoordinatorLost{"connection closed"});
    took<ReachCoordinator>();
    step(CoordinatorUnreachable{"no process listens", true});
    worker_ends();
  }
  bool signalled(int signal) {
    return std::ranges::any_of(actions_, [&](const AgentAction& action) {
      const auto* sent = std::get_if<SignalWorkers>(&action);
      return sent != nullptr && sent->signal == signal;
    });
  }

  static AgentRules rules(FindSuccessor how) {
    return {.workers = 1,
            .terms = {.join_timeout = 60s, .shutdown_timeout = 30s},
            .rejoin = true,
            .endpoint = "h0:1",
            .find_successor = how};
  }
};

TEST_CASE_METHOD(FollowerFixture, "a connection that ends stops no worker: the node comes back") {
  step(CoordinatorLost{"connection reset"});
  const auto wish = took<ReachCoordinator>();
  REQUIRE(wish.has_value());
  CHECK(wish->voter.running == 4);
  CHECK_FALSE(signalled(SIGTERM));

  step(Connected{now_});
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 9, .epoch = 1, .resumed = true}});
  answered(4'000);
  passes(2s);
  CHECK_FALSE(signalled(SIGTERM));
}

TEST_CASE_METHOD(FollowerFixture,
                 "a node that comes back has its former lease, until it is renewed") {
  step(CoordinatorLost{"connection reset"});
  step(Connected{now_});
  now_ += 10s;  // the answer waited while the machine was frozen
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 9, .epoch = 1, .resumed = true}});
  passes(0ms);
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(FollowerFixture,
                 "messages that a lost connection may have swallowed are sent again") {
  step(WorkerExited{WorkerFailure{.rank = 2, .status = {.code = 3}}});
  said<WorkerFailed>();
  step(CoordinatorLost{"connection reset"});
  step(Connected{now_});
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .epoch = 1, .resumed = true}});
  const auto again = said<WorkerFailed>();
  REQUIRE(again.has_value());
  CHECK(again->failure.rank == 2);
}

TEST_CASE_METHOD(FollowerFixture, "a successor learns of a later round without this node") {
  Beat beat{.clock_us = 5, .echo_us = microseconds(now_), .lease_ms = 4'000};
  beat.committed = 6;
  beat.epoch = 1;
  step(Ordered{beat});  // it does not tell of how many nodes
  beat.committed = 5;
  beat.committed_nodes = 2;
  step(Ordered{beat});
  step(CoordinatorLost{"connection closed"});
  const auto reach = took<ReachCoordinator>();
  REQUIRE(reach.has_value());
  CHECK(reach->voter.committed == Configuration{.version = {1, 5}, .voters = 2});
  CHECK(reach->voter.proposed.version == ConfigurationVersion{1, 4});
}

TEST_CASE_METHOD(FollowerFixture,
                 "if no process listens any more the successors are tried in order") {
  step(CoordinatorLost{"connection closed"});
  CHECK(took<ReachCoordinator>()->at.empty());  // where the coordinator was
  step(CoordinatorUnreachable{"no process listens", true});
  CHECK(signalled(SIGTERM));
  CHECK_FALSE(took<ReachCoordinator>().has_value());  // the worker is alive yet
  worker_ends();
  const auto first = took<ReachCoordinator>();
  REQUIRE(first.has_value());
  CHECK(first->at == "h1:1");
  CHECK(first->voter.leader_dead);
  CHECK(first->voter.running == 0);
  CHECK(first->voter.proposed.version == ConfigurationVersion{1, 4});
  step(CoordinatorUnreachable{"no process listens", true});
  CHECK(took<ReachCoordinator>()->at == "h2:1");
  step(CoordinatorUnreachable{"no process listens", true});
  CHECK(took<ReachCoordinator>()->at == "h0:1");
}

TEST_CASE_METHOD(FollowerFixture, "a coordinator that is cut off is not told to be gone") {
  step(CoordinatorLost{"connection reset"});
  took<ReachCoordinator>();
  step(CoordinatorUnreachable{"no answer", false});
  worker_ends();
  const VoterState voter = took<ReachCoordinator>().value().voter;
  CHECK_FALSE(voter.leader_dead);
  CHECK(voter.dead_ranks.empty());
}

TEST_CASE_METHOD(FollowerFixture,
                 "a successor that is lost before it leads is asked for once more") {
  loses_head();
  CHECK(took<ReachCoordinator>()->at == "h1:1");
  for (const char* const next : {"h1:1", "h2:1"}) {
    step(Connected{now_});
    step(Ordered{Candidate{1}});
    step(CoordinatorLost{"connection closed"});
    CHECK(took<ReachCoordinator>()->at == next);
  }
}

TEST_CASE_METHOD(FollowerFixture, "a successor that is gone with its leader is reported") {
  loses_head();
  step(Connected{now_});
  step(Ordered{Candidate{1}});
  step(CoordinatorLost{"connection closed"});
  took<ReachCoordinator>();
  step(CoordinatorUnreachable{"no process listens", true});
  const auto next = took<ReachCoordinator>();
  CHECK(next->at == "h2:1");
  CHECK(next->voter.dead_ranks == "0-1");
}

TEST_CASE_METHOD(FollowerFixture, "who coordinates nothing for long is left for the next") {
  loses_head();
  took<ReachCoordinator>();
  step(Connected{now_});
  step(Ordered{Candidate{1}});
  passes(3s);
  CHECK(took<Disconnect>().has_value());
  CHECK(took<ReachCoordinator>()->at == "h2:1");
}

TEST_CASE_METHOD(FollowerFixture, "a promise is given once, to a candidate that asks for more") {
  loses_head();
  step(Connected{now_});
  step(Ordered{RequestVote{2, 77}});
  CHECK(said<Vote>() == Vote{2, 77});
  step(Ordered{RequestVote{2, 78}});
  CHECK_FALSE(said<Vote>().has_value());
  step(Ordered{RequestVote{3, 79}});
  CHECK(said<Vote>() == Vote{3, 79});
}

TEST_CASE_METHOD(FollowerFixture, "who has promised obeys nobody of before") {
  loses_head();
  step(Connected{now_});
  step(Ordered{RequestVote{3, 1}});
  took<Disconnect>();
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .epoch = 2}});
  CHECK(took<Disconnect>().has_value());
}

TEST_CASE_METHOD(FollowerFixture, "a coordinator that is elsewhere is joined there") {
  loses_head();
  took<ReachCoordinator>();
  step(Connected{now_});
  step(Ordered{Redirect{"h2:1", 2}});
  CHECK(took<ReachCoordinator>()->at == "h2:1");
}

TEST_CASE_METHOD(FollowerFixture, "who is sent to the same coordinator again and again looks on") {
  loses_head();
  for (int times = 0; times < 2; ++times) {
    step(Connected{now_});
    step(Ordered{Redirect{"h9:1", 2}});
  }
  CHECK(took<ReachCoordinator>()->at == "h1:1");
  for (const char* next : {"h2:1", "h0:1", "h9:1"}) {
    step(CoordinatorUnreachable{"no process listens", true});
    CHECK(took<ReachCoordinator>()->at == next);
  }
}

TEST_CASE_METHOD(FollowerFixture,
                 "workers are killed when the lease ends, whatever time they would have") {
  passes(3'900ms);
  CHECK_FALSE(signalled(SIGKILL));
  passes(100ms);
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(FollowerFixture, "a node that waits for others stays while it gets a lease") {
  step(Ordered{StopRound{4, "a node is lost"}});
  worker_ends();
  const auto waits = [&](std::int64_t lease_ms) {
    passes(2s);
    step(Ordered{Waiting{.clock_us = 5, .echo_us = microseconds(now_), .lease_ms = lease_ms}});
  };
  for (int i = 0; i < 10; ++i) waits(5'000);
  CHECK_FALSE(took<ReachCoordinator>().has_value());
  for (int i = 0; i < 3; ++i) waits(0);  // it has lost its majority
  CHECK(took<ReachCoordinator>().has_value());
}

TEST_CASE_METHOD(FollowerFixture, "an answer renews the lease from when its beat was sent") {
  passes(2s);
  answered(4'500);
  passes(4'400ms);
  CHECK_FALSE(signalled(SIGKILL));
  passes(100ms);
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(FollowerFixture,
                 "a silent coordinator is given up while there is time to stop in") {
  answered(4'750);
  passes(3'900ms);
  CHECK_FALSE(signalled(SIGTERM));
  passes(200ms);
  CHECK(signalled(SIGTERM));
  CHECK_FALSE(signalled(SIGKILL));
}

TEST_CASE_METHOD(FollowerFixture,
                 "a round whose lease is over when it is heard of does not begin") {
  step(Ordered{StopRound{4, "why"}});
  worker_ends();
  now_ += 10s;  // it was frozen
  step(Ordered{StartRound{.round = 5, .group_world_size = 3, .epoch = 1, .lease_ms = 4'000}});
  CHECK_FALSE(took<StartWorkers>().has_value());
  CHECK(took<Disconnect>().has_value());
}

TEST_CASE_METHOD(FollowerFixture, "an order to stop at once leaves no time") {
  step(Ordered{StopRound{.round = 4, .reason = "why", .at_once = true}});
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(FollowerFixture,
                 "one whom nobody leads for the join timeout ends with a sentence") {
  loses_head();
  now_ += 61s;
  step(CoordinatorUnreachable{"no process listens", true});
  const auto end = took<Exit>();
  REQUIRE(end.has_value());
  CHECK(end->end.why == AgentEnd::Why::kCoordinatorLost);
  CHECK(end->end.message.find("more than half of the 3 nodes") != std::string::npos);
}

class EtcdFollowerFixture : protected FollowerFixture {
 protected:
  EtcdFollowerFixture() : FollowerFixture{FindSuccessor::kInRegistry, "h0:9"} {}
};

TEST_CASE_METHOD(EtcdFollowerFixture, "a broken connection is tried again where it was") {
  step(CoordinatorLost{"connection closed"});
  CHECK(took<ReachCoordinator>()->at == "h0:9");
}

TEST_CASE_METHOD(EtcdFollowerFixture, "etcd knows who follows, and hears who is dead") {
  loses_head();
  const auto wish = took<ReachCoordinator>();
  REQUIRE(wish.has_value());
  CHECK(wish->at.empty());
  CHECK(wish->patience.any == 60s);
  CHECK(wish->voter.leader_dead);
  CHECK(wish->voter.epoch == 1);
}

TEST_CASE_METHOD(EtcdFollowerFixture, "who leads nobody yet is asked for again") {
  loses_head();
  step(Connected{now_, "h1:9"});
  step(Ordered{Candidate{1}});
  took<ReachCoordinator>();
  passes(3s);
  CHECK(took<ReachCoordinator>()->at.empty());
}

TEST_CASE_METHOD(EtcdFollowerFixture, "the node ends with what etcd has said at last") {
  loses_head();
  now_ += 60s;
  step(CoordinatorUnreachable{"etcd at e:2379: no answer"});
  const auto end = took<Exit>();
  REQUIRE(end.has_value());
  CHECK(end->end.why == AgentEnd::Why::kCoordinatorLost);
  CHECK(end->end.message == "etcd at e:2379: no answer");
}

TEST_CASE_METHOD(EtcdFollowerFixture, "a coordinator that names another one is believed first") {
  step(Ordered{Redirect{"h2:9", 7}});
  worker_ends();
  CHECK(took<ReachCoordinator>()->at == "h2:9");
  step(CoordinatorUnreachable{"refused", true});
  CHECK(took<ReachCoordinator>()->at.empty());
}

// The coordinator has ended the job, and this node waits until all know it.
class LastFixture : protected FollowerFixture {
 protected:
  LastFixture() {
    step(WorkerExited{});
    step(Ordered{EndJob{.restarts = 1, .held = true}});
    step(TreeGone{});
  }
  std::optional<Exit> loses_all_others() {
    step(CoordinatorLost{"connection closed"});
    while (took<ReachCoordinator>() && tried_++ < 10)
      step(CoordinatorUnreachable{"no process listens", true});
    return took<Exit>();
  }
  int tried_ = 0;
};

TEST_CASE_METHOD(LastFixture,
                 "who knows that the job has ended says so, and stays until dismissed") {
  CHECK(said<EndAcknowledged>().has_value());
  CHECK_FALSE(took<Exit>().has_value());
  step(Ordered{Dismiss{}});
  const auto exit = took<Exit>();
  REQUIRE(exit.has_value());
  CHECK(exit->end.why == AgentEnd::Why::kJobEnded);
  CHECK(exit->end.job == EndJob{.restarts = 1});
}

TEST_CASE_METHOD(LastFixture, "when the coordinator is lost then, the next one is informed") {
  step(CoordinatorLost{"connection closed"});
  CHECK(took<ReachCoordinator>()->at == "h0:1");
  step(CoordinatorUnreachable{"no process listens", true});
  CHECK(took<ReachCoordinator>()->at == "h1:1");
  CHECK_FALSE(took<Warn>().has_value());
  step(Connected{now_});
  step(Ordered{Candidate{1}});
  CHECK(said<FinalStatus>()->end == EndJob{.restarts = 1});
}

TEST_CASE_METHOD(LastFixture, "when nobody is there any more, all the others know it") {
  const auto exit = loses_all_others();
  REQUIRE(exit.has_value());
  CHECK(exit->end.why == AgentEnd::Why::kJobEnded);
  CHECK(tried_ == 3);
}

TEST_CASE_METHOD(LastFixture, "without a majority it waits no longer than a heartbeat timeout") {
  step(CoordinatorLost{"connection closed"});
  step(Connected{now_});
  step(Ordered{Candidate{1}});
  passes(6s);
  while (took<ReachCoordinator>()) step(CoordinatorUnreachable{"no answer"});
  const auto exit = took<Exit>();
  REQUIRE(exit.has_value());
  CHECK(exit->end.why == AgentEnd::Why::kJobEnded);
}

TEST_CASE_METHOD(LastFixture, "what it knows is of no account once a round has begun again") {
  step(Ordered{StartRound{.round = 5, .group_world_size = 3, .epoch = 1, .lease_ms = 4'000}});
  CHECK(took<StartWorkers>().has_value());
  step(Ordered{Dismiss{}});
  CHECK_FALSE(took<Exit>().has_value());
}

}  // namespace
}  // namespace ddprun
