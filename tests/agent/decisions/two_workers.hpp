// TwoWorkers: the agent of a node with two workers, for tests of workers that stay.
#pragma once

#include "tests/agent/decisions/agent_fixture.hpp"

namespace ddprun {

inline WorkerSaid says(int local_rank, WorkerWord what) { return {local_rank, what}; }

/// A node with two workers.
class TwoWorkers : public MachineFixture {
 protected:
  TwoWorkers()
      : MachineFixture{{.workers = 2,
                        .terms = {.join_timeout = std::chrono::seconds{60},
                                  .heartbeat_timeout = std::chrono::hours{24},
                                  .shutdown_timeout = std::chrono::seconds{30}},
                        .rejoin = true,
                        .endpoint = "h0:1"}} {}
  void starts(int round) { step(Ordered{StartRound{.round = round}}); }
  void ends(int local_rank, ExitStatus status) {
    step(WorkerExited{
        WorkerFailure{.rank = local_rank, .local_rank = local_rank, .status = status}});
  }
  void told_to_leave() { step(Ordered{StopRound{.round = 1, .reason = "why", .keep = true}}); }
};

}  // namespace ddprun
