// The command line, with torchrun's options and meanings, becomes a LaunchSpec.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "agent/launch_spec.hpp"
#include "launcher/find_program.hpp"
#include "launcher/hosts_job.hpp"
#include "launcher/slurm_step.hpp"

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

using CommandLine = std::variant<Launch, JustPrint, HostsJob, SlurmStart>;

/// What the command line may be about and is not in it.
struct Surroundings {
  EnvironmentLookup environment;
  std::function<int()> cpus;  // that workers may use
  std::function<int()> gpus;  // that workers would see
};

/// `arguments`: without the program's own name. Errors: a sentence that names the option, the value
/// and what is accepted; kNotFound and kDenied for the program to run.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const Surroundings& surroundings);

}  // namespace ddprun
