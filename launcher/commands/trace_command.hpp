// `ddprun trace FILE... -o trace.json` makes a trace for Perfetto of what --event-log has written.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

/// Carries out the command. Returns 0, or 1 when a file cannot be read or written, or has no
/// events. Errors: kInvalid for words that make no sense.
Result<int> run_trace(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
