// Finds the files that a command line names, and looks at how they begin and end.
#pragma once

#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"
#include "launcher/settings/foreign_script.hpp"

namespace ddprun {

/// Returns `name` itself when it holds a '/', else the path of the first executable file of that
/// name in PATH. Errors: kNotFound; kDenied when it is there and is not an executable file.
Result<std::string> find_program(const std::string& name, const EnvironmentLookup& environment);

/// Reads the first and the last bytes of a regular file. They are empty where it cannot be read,
/// and for a directory or a pipe, whose bytes Python alone shall read.
FileEnds file_ends(const std::string& path);

}  // namespace ddprun
