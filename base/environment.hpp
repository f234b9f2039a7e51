// The environment as a function, so that tests can bring one of their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ddprun {

/// The value of a variable of the environment; nullopt when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace ddprun
