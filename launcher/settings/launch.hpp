// What a command line can come to, as far as it is about a job on this node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/launch_spec.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"

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

/// What the meaning of a command line depends on besides its words. Functions, so that what is not
/// asked for is not looked up; see this_machine.hpp for the real ones.
struct Surroundings {
  EnvironmentLookup environment;
  std::function<int()> cpus;                              // how many CPUs workers may use
  std::function<int()> gpus;                              // how many GPUs workers would see
  std::function<bool(const std::string& path)> has_file;  // whether there is such a file
  std::function<Result<std::string>(const std::string& name)> find_program;  // find_program.hpp
};

}  // namespace ddprun
