// EnvironmentLookup: the environment as a function, so that tests can bring one of their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ddprun {

/// Returns the value of the variable `name`; nullopt when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace ddprun
