// The commands that find running jobs of this user on this machine.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

// Each carries out a command with the words behind its name, and returns the exit code. Errors:
// kInvalid for its words; kNotFound when there is no such job; kUnavailable and kTimeout when it
// does not answer.

/// `ddprun ls [--json]`
Result<int> run_ls(const std::vector<std::string>& words, const CommandContext& context);
/// `ddprun status [JOB|ENDPOINT] [--json]`
Result<int> run_status(const std::vector<std::string>& words, const CommandContext& context);
/// `ddprun dump [JOB] [--json]`
Result<int> run_dump(const std::vector<std::string>& words, const CommandContext& context);
/// `ddprun logs JOB RANK [-f]`
Result<int> run_logs(const std::vector<std::string>& words, const CommandContext& context);
/// `ddprun stop JOB`
Result<int> run_stop(const std::vector<std::string>& words, const CommandContext& context);

/// Carries out `ddprun top [JOB]`: on a terminal it fills the screen, until q, Ctrl-C or the end of
/// the job; elsewhere it writes one status after the other. Returns and errors as run_status().
Result<int> run_top(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
