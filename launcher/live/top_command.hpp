// `ddprun top`: how a job is, all the time.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/run/stage.hpp"

namespace ddprun {

/// Carries out `ddprun top [JOB]`: on a terminal it fills the screen, until q, Ctrl-C or the end of
/// the job; elsewhere it writes one status after the other. Returns and errors as run_status().
Result<int> run_top(const std::vector<std::string>& words, const Stage& stage);

}  // namespace ddprun
