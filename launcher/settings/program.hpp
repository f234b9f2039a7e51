// Decides which program the workers run, with which arguments. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/settings/arguments.hpp"
#include "launcher/settings/launch.hpp"

namespace ddprun {

/// What every worker of this node runs.
struct WorkerProgram {
  std::string title;                   // the script or program as the user named it
  std::string path;                    // the executable's
  std::vector<std::string> arguments;  // argv, from argv[0] on
};

/// Returns what the command line names: a script, a module (-m) or any program (--no-python).
/// Errors: kInvalid for options that exclude each other, for a missing script, and for a file that
/// Python cannot run; kNotFound and kDenied for what is not there or cannot be executed.
Result<WorkerProgram> decide_program(const Arguments& arguments, const Surroundings& surroundings);

/// Returns what the file `script` is in place of a Python script, as foreign_kind() does; "" where
/// it may be one, or PYTHON_EXEC names something else that runs it.
std::string foreign_script(const std::string& script, const Surroundings& surroundings);

/// Returns the path of the Python that runs scripts: PYTHON_EXEC, else that of the active virtual
/// environment, else python3, else python of the PATH. Errors: kNotFound, kDenied.
Result<std::string> find_python(const Surroundings& surroundings);

}  // namespace ddprun
