// Finds the script in the command of a worker. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/spec/launch_spec.hpp"

namespace ddprun {

/// A worker's command, taken apart.
struct ProgramWords {
  bool python = false;                 // the program is Python
  std::string module;                  // that Python runs (-m); "": none
  std::string file;                    // a script, or else the program; "" with a module
  std::vector<std::string> arguments;  // the script's
  bool operator==(const ProgramWords&) const = default;
};

/// Sees through Python and a shell, also where a user has named them as the program (--no-python).
ProgramWords program_words(const LaunchSpec& spec);

}  // namespace ddprun
