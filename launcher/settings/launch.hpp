// What a command line can come to, as far as it is about a job on this node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/launch_spec.hpp"
#include "base/environment.hpp"

namespace ddprun {

/// --help, --version and the like: print this to standard output and exit 0.
struct JustPrint {
  std::string text;
};

/// A job to run.
struct Launch {
  LaunchSpec spec;
  bool dry_run = false;               // only say what would be started
  std::vector<std::string> warnings;  // options that have no effect here
  std::string cluster;                // what was taken from a scheduler, in a line; "": nothing
};

/// What the command line may be about and is not in it.
struct Surroundings {
  EnvironmentLookup environment;
  std::function<int()> cpus;  // that workers may use
  std::function<int()> gpus;  // that workers would see
};

}  // namespace ddprun
