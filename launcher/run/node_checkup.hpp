// Asks whether this node is fit for the next round of its job (--check-nodes). `ddprun doctor`
// looks, in a process of its own: a disk or a driver that is ill would hold the agent.
#pragma once

#include <chrono>
#include <string>

#include "agent/agent.hpp"
#include "agent/spec/launch_spec.hpp"
#include "base/asio.hpp"

namespace ddprun {

/// Returns what an agent of `spec` asks; see AgentServices. `spec` must live longer.
CheckNode node_checkup(const LaunchSpec& spec);

}  // namespace ddprun
