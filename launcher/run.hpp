// One run of a job on this node, from a valid LaunchSpec to the exit code.
#pragma once

#include "agent/console.hpp"
#include "agent/launch_spec.hpp"
#include "launcher/find_program.hpp"

namespace ddprun {

/// Hosts the coordinator where the spec says so, runs the agent, and reports how the job ended.
/// Returns the exit code; see exit_code.hpp.
int run(boost::asio::io_context& io, LaunchSpec spec, const EnvironmentLookup& environment,
        Console& out, Console& err);

}  // namespace ddprun
