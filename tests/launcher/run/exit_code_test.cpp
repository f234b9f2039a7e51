#include "launcher/run/exit_code.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Outcome = EndJob::Outcome;
using Why = AgentEnd::Why;

AgentEnd failed(ExitStatus status) {
  return {.job = {Outcome::kFailed, 0, "", WorkerFailure{.status = status}}};
}
AgentEnd ended(Outcome outcome) { return {.job = {outcome, 0, "", {}}}; }

TEST_CASE("the exit code tells how the job ended") {
  struct Case {
    const char* how;
    AgentEnd end;
    int code;
  };
  const Case cases[] = {
      {"every worker exited 0", ended(Outcome::kFinished), 0},
      {"a worker exited with a code", failed({.code = 3}), 3},
      {"a worker was killed by a signal", failed({.signal = 11}), 139},
      {"a failure that a coordinator knew which is gone", ended(Outcome::kFailed), 69},
      {"too few nodes", ended(Outcome::kTooFewNodes), 75},
      {"the workers hung", ended(Outcome::kHung), 86},
      {"its end was announced", ended(Outcome::kPreempted), 85},
      {"a stop signal", {.why = Why::kStopSignal, .signal = 15}, 143},
      {"another stop signal", {.why = Why::kStopSignal, .signal = 2}, 130},
      {"the coordinator refused this node", {.why = Why::kRefused}, 69},
      {"the coordinator was lost", {.why = Why::kCoordinatorLost}, 69},
      {"there was never a coordinator", {.why = Why::kNoCoordinator}, 69},
  };
  for (const Case& one : cases) {
    INFO(one.how);
    CHECK(exit_code(one.end) == one.code);
  }
}

TEST_CASE("the exit code tells why the job could not begin") {
  struct Case {
    Error::Kind kind;
    int code;
  };
  const Case cases[] = {
      {Error::Kind::kInvalid, 2},      {Error::Kind::kNotFound, 127}, {Error::Kind::kDenied, 126},
      {Error::Kind::kUnavailable, 71}, {Error::Kind::kTimeout, 71},
  };
  for (const Case& one : cases) CHECK(exit_code(Error{one.kind, ""}) == one.code);
}

}  // namespace
}  // namespace ddprun
