// Debuggers: in which workers of this node a debugger is open, or which wait for one, as the
// coordinator hears it; and whether any rank of the job is debugged. Pure.
//
// Where a round ends nothing is left of that, and its workers need not hear of it.
#pragma once

#include <optional>
#include <vector>

#include "agent/decisions/agent_state.hpp"
#include "agent/decisions/worker_round.hpp"

namespace ddprun {

class Debuggers {
 public:
  /// `agent` and `workers` must outlive it.
  Debuggers(AgentState& agent, const WorkerRound& workers) : agent_{agent}, workers_{workers} {}

  /// These workers of the round are debugged now, or wait.
  void changed(const DebuggersChanged& event);
  /// The coordinator may have missed the last report, or have forgotten it.
  void tell_again();
  /// The coordinator says which ranks of the job are.
  void heard(const RanksDebugged& all);

 private:
  bool is_of(int round) const { return round == workers_.number() && !is_over(workers_); }

  AgentState& agent_;
  const WorkerRound& workers_;
  std::optional<Debugging> told_;  // the last report
  int extended_in_ = 0;            // the round whose timeouts are extended; 0: none
};

}  // namespace ddprun
