#include "agent/job_signals.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/probes.hpp"

namespace ddprun {
namespace {

TEST_CASE("a signal that announces the end does so even where it would stop the job") {
  LaunchSpec spec;
  spec.preemption.signals = {SIGTERM};
  CHECK(std::holds_alternative<EndAnnounced>(meaning_of(SIGTERM, spec)));
  CHECK(std::holds_alternative<StopSignal>(meaning_of(SIGINT, spec)));
  CHECK(std::get<PassOn>(meaning_of(SIGUSR2, spec)).signal == SIGUSR2);
}

TEST_CASE("an agent listens for all signals that mean something to it, each once") {
  LaunchSpec spec;
  spec.preemption.signals = {SIGUSR1, SIGRTMIN};
  const auto signals = signals_for(spec);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGWINCH, SIGRTMIN}) {
    INFO(signal);
    CHECK(std::ranges::count(signals, signal) == 1);
  }
}

TEST_CASE("an agent does not listen for a signal that its user has it ignore") {
  const Ignored nohup{SIGHUP};
  CHECK(std::ranges::count(signals_for({}), SIGHUP) == 0);
}

}  // namespace
}  // namespace ddprun
