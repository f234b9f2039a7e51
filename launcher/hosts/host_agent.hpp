// `ddprun agent` is what the launcher of a job on several hosts starts on each of them by ssh.
//
// Its standard input and output are the conversation of host_messages.hpp. It runs this node's part
// of the job as if it had been started there with the job's command line, and stops it as soon as
// its input ends: that is how it learns that the launcher, or the connection to it, is gone.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"
#include "launcher/settings/launch.hpp"
#include "launcher/settings/meeting.hpp"

namespace ddprun {

/// How a job's command line is read on a host of `ddprun --hosts`. Errors: those of the command
/// line.
using ParseLaunch = Result<Launch> (*)(const std::vector<std::string>& arguments,
                                       const LocalSystem& system, const HostPlace& place);

/// Carries out `ddprun agent`. Returns the job's exit code, which the launcher has got. Errors:
/// kInvalid, when it was not started by a launcher.
Result<int> run_host_agent(const std::vector<std::string>& words, const CommandContext& context,
                           ParseLaunch parse);

}  // namespace ddprun
