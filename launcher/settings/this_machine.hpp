// Looks up what the meaning of a command line depends on, as it really is.
#pragma once

#include "launcher/settings/launch.hpp"

namespace ddprun {

/// Returns the surroundings on this machine, with the variables of `environment`.
Surroundings this_machine(const EnvironmentLookup& environment);

}  // namespace ddprun
