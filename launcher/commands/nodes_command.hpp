// `ddprun nodes` shows which nodes caused failures, and forgives those that were mended.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out `ddprun nodes` with the words behind it. Returns 0, or 1 when a node that is to be
/// forgiven has caused nothing. Errors: as Subcommand's.
Result<int> run_nodes(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
