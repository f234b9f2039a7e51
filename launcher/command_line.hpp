// The command line, with torchrun's options and meanings, becomes a LaunchSpec.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "agent/launch_spec.hpp"
#include "launcher/find_program.hpp"

namespace ddprun {

/// --help and --version: print this to standard output and exit 0.
struct JustPrint {
  std::string text;
};

using CommandLine = std::variant<LaunchSpec, JustPrint>;

/// `arguments`: without the program's own name. Errors: a sentence that names the option, the value
/// and what is accepted; kNotFound and kDenied for the program to run.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments,
                                       const EnvironmentLookup& environment);

}  // namespace ddprun
