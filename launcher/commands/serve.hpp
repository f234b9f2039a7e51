// Carries out the commands that listen on a port until they are stopped.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out `ddprun server`, the coordinator of any job that comes. Returns 0. Errors: kInvalid
/// for its words, kUnavailable and kTimeout for its address.
Result<int> run_server(const std::vector<std::string>& words, const CommandContext& context);

/// Carries out `ddprun store`, the worker store alone. Returns and errors are as above.
Result<int> run_store(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
