// AgentMachine while workers of this node, or ranks of other nodes, are debugged: what it tells the
// coordinator, and when the workers get more time.
#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

const DebuggedRank kWaiting{1, true, "train.py:31", "breakpoint()"};

/// An agent with two workers in round 4, at a coordinator to which it may come back.
class DebuggerFixture : public MachineFixture {
 protected:
  DebuggerFixture() : MachineFixture{{.workers = 2, .rejoin = true}} {
    step(AgentBegins{});
    step(Connected{});
    step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .keeps_workers = true}});
    starts(4);
  }
  void starts(int round) {
    step(Ordered{
        StartRound{.round = round, .group_world_size = 2, .world_size = 4, .lease_ms = 5'000}});
  }
  void ends_round() {
    step(Ordered{StopRound{4, "why"}});
    step(WorkerExited{WorkerFailure{.rank = 0}});
    step(WorkerExited{WorkerFailure{.rank = 1}});
    step(TreeGone{});
  }
  void comes_back() {
    step(CoordinatorLost{"connection reset"});
    step(Connected{now_});
    step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .resumed = true, .keeps_workers = true}});
  }
  void hears(std::vector<DebuggedRank> all, int round = 4) {
    step(Ordered{RanksDebugged{round, std::move(all)}});
  }
};

TEST_CASE_METHOD(DebuggerFixture, "the coordinator hears which workers are debugged, or none") {
  step(DebuggersChanged{{kWaiting}});
  CHECK(said<Debugging>() == Debugging{4, {kWaiting}});
  step(DebuggersChanged{});
  CHECK(said<Debugging>() == Debugging{4, {}});
}

TEST_CASE_METHOD(DebuggerFixture, "a coordinator that is joined again hears it again") {
  comes_back();
  CHECK_FALSE(said<Debugging>());
  step(DebuggersChanged{{kWaiting}});
  said<Debugging>();
  comes_back();
  CHECK(said<Debugging>() == Debugging{4, {kWaiting}});
  step(CoordinatorLost{"connection reset"});
  step(DebuggersChanged{});
  step(Connected{now_});
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .resumed = true, .keeps_workers = true}});
  CHECK(said<Debugging>() == Debugging{4, {}});
}

TEST_CASE_METHOD(DebuggerFixture, "nothing is reported of workers of a round that is over") {
  step(DebuggersChanged{{kWaiting}});
  ends_round();
  said<Debugging>();
  step(DebuggersChanged{{kWaiting}});
  starts(5);
  comes_back();
  CHECK_FALSE(said<Debugging>());
}

TEST_CASE_METHOD(DebuggerFixture, "workers have more time from the first rank that is debugged") {
  hears({});
  CHECK_FALSE(took<ExtendTimeouts>());
  hears({{.rank = 3}});
  CHECK(took<ExtendTimeouts>()->extended);
  hears({{.rank = 2}, {.rank = 3}});
  CHECK_FALSE(took<ExtendTimeouts>());
  hears({});
  CHECK_FALSE(took<ExtendTimeouts>()->extended);
  hears({});
  CHECK_FALSE(took<ExtendTimeouts>());
}

TEST_CASE_METHOD(DebuggerFixture, "a round begins with the usual time, and without an order") {
  hears({{.rank = 3}});
  took<ExtendTimeouts>();
  ends_round();
  starts(5);
  CHECK_FALSE(took<ExtendTimeouts>());
  hears({}, 5);
  CHECK_FALSE(took<ExtendTimeouts>());
  hears({{.rank = 3}}, 5);
  CHECK(took<ExtendTimeouts>()->extended);
}

TEST_CASE_METHOD(DebuggerFixture, "ranks of another round give workers no time") {
  hears({{.rank = 3}}, 3);
  CHECK_FALSE(took<ExtendTimeouts>());
  ends_round();
  hears({{.rank = 3}});
  CHECK_FALSE(took<ExtendTimeouts>());
}

}  // namespace
}  // namespace ddprun
