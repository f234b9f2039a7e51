// `ddprun debug`: a debugger in one rank of a running job.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out `ddprun debug [JOB] RANK [--port N]`: until the debugger is left, or the user goes,
/// this terminal is the debugger's. Returns and errors as the commands of live_commands.hpp.
Result<int> run_debug(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
