// Which file a program's name means, as a shell finds it.
#pragma once

#include <string>

#include "base/environment.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The path of `name`: itself when it holds a '/', else the first executable in PATH. Errors:
/// kNotFound, kDenied when it is there and is not an executable file.
Result<std::string> find_program(const std::string& name, const EnvironmentLookup& environment);

}  // namespace ddprun
