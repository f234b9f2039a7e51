// ddprun's own messages: where they go and how many of them.
#pragma once

#include <optional>
#include <string>

#include "agent/console.hpp"

namespace ddprun {

/// Sends spdlog's default logger to `console`, in order with the workers' output. `level`: as in
/// torchrun's LOGLEVEL (DEBUG, INFO, WARNING, ERROR, in any case); warnings when it is anything
/// else.
void set_up_log(Console& console, const std::optional<std::string>& level);

}  // namespace ddprun
