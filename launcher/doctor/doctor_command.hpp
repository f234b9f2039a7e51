// `ddprun doctor`: says before a job what would make it fail, and between rounds whether a node
// is fit.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/command_context.hpp"

namespace ddprun {

/// Carries out `ddprun doctor --fitness`, by which an agent looks at its own node (--check-nodes).
/// Looks once, and prints what to_lines() makes of it. The first of `words` is kFitnessWord.
/// Returns 0. Errors: kInvalid for words that make no sense. To be called while there is one
/// thread.
Result<int> look_at_fitness(const std::vector<std::string>& words, const CommandContext& context);

/// Carries out the command. Returns 0, or 1 when a check has failed. Errors: kInvalid for words
/// that make no sense.
Result<int> run_doctor(const std::vector<std::string>& words, const CommandContext& context);

}  // namespace ddprun
