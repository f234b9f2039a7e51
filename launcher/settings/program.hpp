// Decides which program the workers run, with which arguments. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/environment.hpp"
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
Result<WorkerProgram> decide_program(const Arguments& arguments, const LocalSystem& system);

/// Returns what the file `script` is in place of a Python script, as foreign_kind() does; "" where
/// it may be one, or PYTHON_EXEC names something else that runs it.
std::string foreign_script(const std::string& script, const LocalSystem& system);

/// Returns the path of the Python that runs scripts: PYTHON_EXEC, else that of the active
/// environment, else python3, else python of the PATH. Errors: kNotFound, kDenied.
Result<std::string> find_python(const LocalSystem& system);

/// The environment whose Python runs scripts: that of VIRTUAL_ENV, unless one of conda stands
/// before it in PATH, as where that was activated on top.
struct PythonEnvironment {
  std::string path;    // "": none is active
  std::string passed;  // another one, of VIRTUAL_ENV, which comes later in PATH; "": there is none
};
PythonEnvironment python_environment(const EnvironmentLookup& environment);

/// Returns the variables by which another host finds the same Python.
std::map<std::string, std::string> python_variables(const EnvironmentLookup& environment);

/// Returns a sentence on which of two active environments runs scripts; "" where there is no doubt.
std::string environment_in_doubt(const EnvironmentLookup& environment);

}  // namespace ddprun
