// `ddprun doctor`: says before a job what would make it fail.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

/// Carries out the command. Returns 0, or 1 when a check has failed. Errors: kInvalid for words
/// that make no sense.
Result<int> run_doctor(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
