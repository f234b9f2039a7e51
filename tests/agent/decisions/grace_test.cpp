// AgentMachine and workers that take their time to end: what users hear of them.
#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class GraceFixture : protected MachineFixture {
 protected:
  GraceFixture()
      : MachineFixture{
            {.workers = 2, .terms = {.heartbeat_timeout = 24h, .shutdown_timeout = 30s}}} {
    step(Connected{});
    step(Ordered{StartRound{.round = 1}});
  }
  void gets(int signal) { step(StopSignal{signal}); }
};

TEST_CASE_METHOD(GraceFixture, "workers that take more than 3 s to end are reported, once") {
  gets(SIGINT);
  step(WorkerExited{WorkerFailure{.status = {.signal = SIGINT}}});
  passes(2'999ms);
  CHECK_FALSE(took<Warn>());
  passes(1ms);
  CHECK(took<Warn>()->text == "1 worker did not end within 3 s: SIGKILL in 27 s");
  passes(20s);
  CHECK_FALSE(took<Warn>());
}

TEST_CASE_METHOD(GraceFixture, "no note is printed about workers that are killed that soon") {
  gets(SIGINT);
  passes(500ms);
  gets(SIGINT);
  passes(2s);
  gets(SIGINT);
  passes(2s);
  CHECK_FALSE(took<Warn>());
}

}  // namespace
}  // namespace ddprun
