// An agent that looks at its node before each round (--check-nodes).
#include "agent/decisions/self_check.hpp"

#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class CheckedNode : public MachineFixture {
 protected:
  CheckedNode()
      : MachineFixture{{.workers = 1,
                        .terms = {.heartbeat_timeout = 24h, .shutdown_timeout = 30s},
                        .endpoint = "h0:1",
                        .checks_itself = true}} {
    step(AgentBegins{});
  }
  void is_found(const std::string& unfit) { step(Checked{took<CheckSelf>()->check, unfit}); }
  void joins() {
    is_found("");
    step(Connected{});
    step(Ordered{Joined{.heartbeat_timeout_ms = 86'400'000}});
    said<Fitness>();
  }
  void runs(int round) { step(Ordered{StartRound{.round = round}}); }
  /// The round is stopped, and nothing of it is left.
  void stops(int round) {
    step(Ordered{StopRound{round, "why"}});
    step(WorkerExited{WorkerFailure{.status = {.signal = SIGTERM}}});
    step(TreeGone{});
  }
};

TEST_CASE_METHOD(CheckedNode, "a node joins once it has looked at itself, and says what it found") {
  CHECK_FALSE(took<ReachCoordinator>());
  is_found("is sick");
  CHECK(took<ReachCoordinator>()->unfit == "is sick");
}

TEST_CASE_METHOD(CheckedNode, "before the first round nothing is waited for") {
  CHECK(took<CheckSelf>()->patience == 0s);
}

TEST_CASE_METHOD(CheckedNode, "after a round the answer waits for the look") {
  joins();
  runs(1);
  stops(1);
  CHECK_FALSE(said<WorkersStopped>());
  SECTION("the node is fit, as before: there is no more to say") {
    is_found("");
    CHECK_FALSE(said<Fitness>());
    CHECK(said<WorkersStopped>()->round == 1);
  }
  SECTION("what dead workers have left is waited for") {
    CHECK(took<CheckSelf>()->patience == kCheckPatience);
  }
  SECTION("the node is sick, which is reported first") {
    const int check = took<CheckSelf>()->check;
    actions_.clear();
    step(Checked{check, "is sick"});
    REQUIRE(actions_.size() == 2);
    CHECK(std::holds_alternative<Fitness>(std::get<Tell>(actions_[0]).message));
    CHECK(std::holds_alternative<WorkersStopped>(std::get<Tell>(actions_[1]).message));
    CHECK(said<Fitness>()->unfit == "is sick");
  }
}

TEST_CASE_METHOD(CheckedNode, "a sick node that waits is well when two looks have said so") {
  joins();
  runs(1);
  stops(1);
  is_found("is sick");
  actions_.clear();
  passes(kCheckAgain);
  is_found("");
  CHECK_FALSE(said<Fitness>());
  passes(kCheckAgain);
  SECTION("they do") {
    is_found("");
    CHECK(said<Fitness>()->unfit.empty());
  }
  SECTION("one says otherwise") {
    is_found("is sick");
    CHECK_FALSE(said<Fitness>());
    passes(kCheckAgainMax);
    is_found("");
    CHECK_FALSE(said<Fitness>());
  }
}

TEST_CASE_METHOD(CheckedNode, "a spare looks again and again, more and more seldom") {
  joins();
  for (const auto pause : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
    passes(pause - 1ms);
    CHECK_FALSE(took<CheckSelf>());
    passes(1ms);
    is_found("");
  }
  passes(600s);
  said<Fitness>();
  is_found("is sick");
  CHECK(said<Fitness>()->unfit == "is sick");
}

TEST_CASE_METHOD(CheckedNode, "what cannot be found out changes nothing, and is warned of") {
  joins();
  runs(1);
  stops(1);
  is_found("is sick");
  said<Fitness>();
  passes(kCheckAgain);
  step(Checked{took<CheckSelf>()->check, "", "no answer within 7 s"});
  CHECK_FALSE(said<Fitness>());
  CHECK(took<Warn>()->text ==
        "--check-nodes: this node could not be looked at: no answer within 7 s");
}

TEST_CASE_METHOD(CheckedNode, "where no round follows, nothing is looked at") {
  joins();
  runs(1);
  took<CheckSelf>();
  step(Ordered{StopRound{.round = 1, .reason = "why", .last = true}});
  step(WorkerExited{WorkerFailure{.status = {.signal = SIGTERM}}});
  step(TreeGone{});
  CHECK_FALSE(took<CheckSelf>());
  CHECK(said<WorkersStopped>());
}

TEST_CASE_METHOD(CheckedNode, "a look that a new round has overtaken counts no more") {
  joins();
  runs(1);
  stops(1);
  is_found("is sick");
  passes(kCheckAgain);
  const int old = took<CheckSelf>()->check;
  runs(2);
  actions_.clear();
  step(Checked{old, ""});
  CHECK(actions_.empty());
  stops(2);
  step(Checked{old, ""});
  CHECK_FALSE(said<WorkersStopped>());
  is_found("is sick");
  CHECK(said<WorkersStopped>()->round == 2);
}

TEST_CASE_METHOD(CheckedNode, "Ctrl-C ends an agent that looks at its node") {
  SECTION("before it joins") {
    step(StopSignal{SIGINT});
    CHECK(took<Exit>());
  }
  SECTION("between two rounds") {
    joins();
    runs(1);
    stops(1);
    step(StopSignal{SIGINT});
    CHECK_FALSE(took<Exit>());  // it waits for the times of the job
    passes(kOneRequest);
    step(StopSignal{SIGINT});
    CHECK(took<Exit>());
    step(Checked{2, ""});
    CHECK_FALSE(said<WorkersStopped>());
  }
}

TEST_CASE_METHOD(CheckedNode, "a node that joins hears what was found while it searched") {
  is_found("");
  CHECK(took<ReachCoordinator>()->unfit.empty());
  passes(kCheckAgain);
  is_found("is sick");
  step(Connected{});
  step(Ordered{Joined{.heartbeat_timeout_ms = 86'400'000}});
  CHECK(said<Fitness>()->unfit == "is sick");
}

}  // namespace
}  // namespace ddprun
