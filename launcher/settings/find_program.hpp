// Finds the file that a program's name means, as a shell does.
#pragma once

#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Returns `name` itself when it holds a '/', else the path of the first executable file of that
/// name in PATH. Errors: kNotFound; kDenied when it is there and is not an executable file.
Result<std::string> find_program(const std::string& name, const EnvironmentLookup& environment);

}  // namespace ddprun
