// One run of a job on this node, from a valid LaunchSpec to the exit code.
#pragma once

#include "agent/console.hpp"
#include "agent/worker_plan.hpp"
#include "launcher/find_program.hpp"

namespace ddprun {

/// What this machine is and has, for a run of `spec`. Errors: kInvalid, when --numa-binding asks
/// for more than there is.
Result<NodeFacts> node_facts(const LaunchSpec& spec, const EnvironmentLookup& environment);

/// Hosts the coordinator, runs the agent, and reports how the job ended. Returns the exit code (see
/// exit_code.hpp), or an Error when the job could not begin.
Result<int> run(boost::asio::io_context& io, LaunchSpec spec, const EnvironmentLookup& environment,
                Console& out, Console& err);

}  // namespace ddprun
