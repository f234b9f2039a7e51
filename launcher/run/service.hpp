// Service: what a run has beside its agent, such as its own coordinator. Services are prepared in
// order before there is an agent, and stopped in reverse order when the agent has ended.
#pragma once

#include "agent/agent.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/result.hpp"

namespace ddprun {

class Service {
 public:
  virtual ~Service() = default;

  /// Makes what the agent and its workers need, and adds to `node`, which outlives the service,
  /// where they find it. Errors end the run.
  virtual Result<void> prepare(NodeFacts& node) = 0;
  /// The agent begins after this call. It outlives the call of stop().
  virtual void start(Agent& /*agent*/) {}
  virtual void stop() {}
};

}  // namespace ddprun
