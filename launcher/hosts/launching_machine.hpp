// Looks up what a job on hosts takes from the machine that it is started on.
#pragma once

#include "launcher/hosts/hosts_job.hpp"

namespace ddprun {

/// Returns what this machine has, with the variables of `environment`.
LaunchingMachine launching_machine(const EnvironmentLookup& environment);

}  // namespace ddprun
