// The surroundings of a command line as they really are.
#pragma once

#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What this machine has, seen with the variables of `environment`.
Surroundings this_machine(const EnvironmentLookup& environment);

}  // namespace ddprun
