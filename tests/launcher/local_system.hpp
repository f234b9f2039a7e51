// A LocalSystem with files as they are, and an environment and a machine of the test's own.
#pragma once

#include "launcher/settings/this_machine.hpp"

namespace ddprun {

inline LocalSystem local_system(const EnvironmentLookup& environment, int cpus, int gpus = 0) {
  LocalSystem machine = this_machine(environment);
  machine.cpus = [cpus] { return cpus; };
  machine.online_cpus = [cpus] { return cpus; };
  machine.gpus = [gpus] { return gpus; };
  return machine;
}

}  // namespace ddprun
