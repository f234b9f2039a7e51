// Looks up what a run has to know of this machine before it begins.
#pragma once

#include "agent/workers/worker_plan.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Returns the facts for a run of `spec`. Errors: kInvalid, when --numa-binding asks for more than
/// there is.
Result<MachineFacts> machine_facts(const LaunchSpec& spec, const EnvironmentLookup& environment);

}  // namespace ddprun
