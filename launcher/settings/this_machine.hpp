// Looks up what the meaning of a command line depends on, as it really is.
#pragma once

#include "launcher/settings/launch.hpp"

namespace ddprun {

/// Returns the system of this machine, with the variables of `environment`.
LocalSystem this_machine(const EnvironmentLookup& environment);

}  // namespace ddprun
