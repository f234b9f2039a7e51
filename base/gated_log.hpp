// GatedLog writes lines of one kind to the log, at most one a second.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/log_gate.hpp"

namespace ddprun {

/// For what peers can provoke as often as they like.
class GatedLog {
 public:
  explicit GatedLog(log::Level level) : level_{level} {}

  /// Logs a line if it is time for one. It says how many before it were left out.
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const auto left_out = gate_.pass(Clock::now());
    if (!left_out) return;
    std::string line = fmt::vformat(format, fmt::make_format_args(arguments...));
    if (*left_out > 0) line += " (" + std::to_string(*left_out) + " more like it before)";
    log::write(level_, line);
  }

 private:
  const log::Level level_;
  LogGate gate_;
};

}  // namespace ddprun
