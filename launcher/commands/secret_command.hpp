// `ddprun secret` makes a secret for a job's nodes.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out `ddprun secret`: prints a fresh secret. A file that the output goes to can be read
/// by its owner alone from then on, as --secret-file wants it. Returns 0. Errors: kInvalid for its
/// words, kUnavailable.
Result<int> run_secret(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
