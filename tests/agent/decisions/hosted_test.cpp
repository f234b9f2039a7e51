// AgentMachine in a job that a `ddprun server` hosts, when that is away for a while.
#include <algorithm>
#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// An agent with one worker in round 4, of a server. The heartbeat timeout is 5 s, and it is the
// moment at which the last beat was answered.
class HostedAgentFixture : protected MachineFixture {
 protected:
  HostedAgentFixture()
      : MachineFixture{{.workers = 1,
                        .terms = {.join_timeout = 60s, .shutdown_timeout = 30s},
                        .rejoin = true}} {
    now_ += 1h;
    step(AgentBegins{});
    step(Connected{now_, ""});
    step(Ordered{joined(false)});
    step(Ordered{StartRound{.round = 4,
                            .attempt = 1,
                            .group_rank = 1,
                            .group_world_size = 3,
                            .first_rank = 2,
                            .world_size = 6,
                            .master_port = 2'000,
                            .lease_ms = 5'000}});
    took<StartWorkers>();
    took<ReachCoordinator>();
  }
  static Joined joined(bool resumed, bool keeps = true) {
    return {
        .heartbeat_timeout_ms = 5'000, .clock_us = 1, .resumed = resumed, .keeps_workers = keeps};
  }
  void server_dies() { step(CoordinatorLost{"connection closed"}); }
  void server_answers(const CoordinatorMessage& message) {
    step(Connected{now_, ""});
    step(Ordered{message});
  }
  bool signalled(int signal) {
    return std::ranges::any_of(actions_, [&](const AgentAction& action) {
      const auto* sent = std::get_if<SignalWorkers>(&action);
      return sent != nullptr && sent->signal == signal;
    });
  }
};

TEST_CASE_METHOD(HostedAgentFixture, "workers run on while the server is away, and it is asked") {
  passes(500ms);
  server_dies();
  CHECK_FALSE(signalled(SIGTERM));
  const auto wish = took<ReachCoordinator>();
  REQUIRE(wish.has_value());
  CHECK(wish->at.empty());
  CHECK(wish->patience.any == 3'250ms);  // 19 of 20 parts of 5 s, less a fifth for their end
  CHECK(wish->patience.refused == wish->patience.any);
  CHECK(wish->voter.running == 4);
  CHECK(wish->voter.assignment == HostedAssignment{4, 3, 1, 2, 6, 2'000});
  CHECK(wish->counters == JobCounters{4, 1});
}

TEST_CASE_METHOD(HostedAgentFixture, "workers go on with a server that knows them") {
  server_dies();
  passes(2s);
  server_answers(joined(true));
  CHECK_FALSE(signalled(SIGTERM));
  passes(1s);
  CHECK(said<Beat>().has_value());
}

TEST_CASE_METHOD(HostedAgentFixture, "a server that does not know the workers has them stopped") {
  server_dies();
  SECTION("it says so") { server_answers(Redirect{}); }
  SECTION("it is of a release that asks for nothing") { server_answers(joined(false, false)); }
  CHECK(signalled(SIGTERM));
  took<ReachCoordinator>();
  step(WorkerExited{WorkerFailure{.status = {.signal = SIGTERM}}});
  step(TreeGone{});
  const auto again = took<ReachCoordinator>();
  REQUIRE(again.has_value());
  CHECK(again->voter.running == 0);
  CHECK(again->voter.assignment.round == 4);  // so that the others need not wait for this node
}

TEST_CASE_METHOD(HostedAgentFixture, "workers are dead when the lease is over") {
  server_dies();
  step(CoordinatorUnreachable{"no process listens", true});
  CHECK(signalled(SIGTERM));
  passes(4'750ms);
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(HostedAgentFixture, "a server that is silent has the workers stopped in time") {
  passes(4s);
  CHECK(signalled(SIGTERM));
  CHECK_FALSE(signalled(SIGKILL));
  passes(750ms);
  CHECK(signalled(SIGKILL));
}

TEST_CASE_METHOD(HostedAgentFixture, "an answer to a beat makes the lease longer") {
  passes(2s);
  step(Ordered{Beat{.clock_us = 5, .echo_us = microseconds(now_), .lease_ms = 5'000}});
  passes(3'500ms);
  CHECK_FALSE(signalled(SIGTERM));
}

TEST_CASE_METHOD(HostedAgentFixture,
                 "what happened meanwhile is reported when the server is back") {
  SECTION("a failure") {
    server_dies();
    step(WorkerExited{WorkerFailure{.rank = 2, .status = {.code = 3}}});
    CHECK_FALSE(said<WorkerFailed>().has_value());
    server_answers(joined(true));
    const auto failed = said<WorkerFailed>();
    REQUIRE(failed.has_value());
    CHECK(failed->failure.status.code == 3);
  }
  SECTION("the end") {
    server_dies();
    step(WorkerExited{WorkerFailure{.rank = 2}});
    server_answers(joined(true));
    CHECK(said<WorkersFinished>().has_value());
  }
}

TEST_CASE_METHOD(HostedAgentFixture, "a new server hears how far the workers are") {
  step(WorkerProgressed{RankProgress{.rank = 2, .step = 17}});
  passes(1s);  // a beat tells it
  REQUIRE(said<Beat>().has_value());
  server_dies();
  server_answers(joined(true));
  passes(1s);
  const auto told = said<Progress>();
  REQUIRE(told.has_value());
  REQUIRE(told->ranks.size() == 1);
  CHECK(told->ranks[0].step == 17);
}

TEST_CASE_METHOD(HostedAgentFixture, "a node without workers waits for orders without a lease") {
  step(Ordered{StopRound{4, "a node joined", 0, 1}});
  step(WorkerExited{WorkerFailure{.status = {.signal = SIGTERM}}});
  step(TreeGone{});
  for (int i = 0; i < 20; ++i) {
    passes(1s);
    step(Ordered{Waiting{.clock_us = 5, .echo_us = microseconds(now_)}});
  }
  CHECK_FALSE(took<Disconnect>().has_value());
}

TEST_CASE_METHOD(HostedAgentFixture, "without such a server workers end with the connection") {
  step(Ordered{joined(false, false)});
  server_dies();
  CHECK(signalled(SIGTERM));
}

}  // namespace
}  // namespace ddprun
