// Decides where ddprun's own messages go, and how many of them.
#pragma once

#include <optional>
#include <string>

#include "agent/output/console.hpp"

namespace ddprun {

/// Sends spdlog's default logger to `console`, in order with the workers' output. `level` is that
/// of torchrun's LOGLEVEL: DEBUG, INFO, WARNING or ERROR, in any case. Anything else means WARNING.
void set_up_log(Console& console, const std::optional<std::string>& level);

}  // namespace ddprun
