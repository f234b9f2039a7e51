// Which program the workers run, with which arguments. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/settings/arguments.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

struct WorkerProgram {
  std::string title;                   // the script or program as the user named it
  std::string path;                    // of the executable
  std::vector<std::string> arguments;  // argv, from argv[0] on
};

/// The script, module or program of the command line (-m, --no-python, --run-path, --use-env).
/// Errors: kInvalid for options that exclude each other or a missing script, kNotFound and kDenied
/// for what is not there or cannot be executed.
Result<WorkerProgram> decide_program(const Arguments& arguments, const Surroundings& surroundings);

/// The path of the Python that runs scripts: PYTHON_EXEC, else that of the active virtual
/// environment, else python3, else python of the PATH. Errors: kNotFound, kDenied.
Result<std::string> find_python(const Surroundings& surroundings);

}  // namespace ddprun
