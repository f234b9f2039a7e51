// `ddprun topo`: draws the machine, and says where --numa-binding would put each worker.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out the command. Returns 0. Errors: kInvalid for words that make no sense, and for an
/// input that cannot be read or is no machine; those of read_this_machine().
Result<int> run_topo(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
