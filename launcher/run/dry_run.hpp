// --dry-run shows what would be started, as lines that a shell can run. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/workers/worker_plan.hpp"

namespace ddprun {

/// Returns a command for each worker, with those variables that the worker has and ddprun has not.
/// `workers_of_nodes` is as in Launch. What the nodes of a job decide only when they meet is shown
/// as such.
std::string dry_run(const LaunchSpec& spec, MachineFacts machine,
                    const std::vector<int>& workers_of_nodes = {});

}  // namespace ddprun
