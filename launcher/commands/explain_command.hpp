// `ddprun explain FILE` prints the report of --report-file for people.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

/// Carries out the command. Returns 0, or 1 when the file cannot be read or is no report. Errors:
/// kInvalid for words that make no sense.
Result<int> run_explain(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
