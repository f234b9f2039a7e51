// GatedLog writes lines of one kind to the log, at most one a second.
#pragma once

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/log_gate.hpp"

namespace ddprun {

/// For what peers can provoke as often as they like.
class GatedLog {
 public:
  explicit GatedLog(spdlog::level::level_enum level) : level_{level} {}

  /// Logs a line if it is time for one. It says how many before it were left out.
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const auto left_out = gate_.pass(Clock::now());
    if (!left_out) return;
    std::string line = fmt::format(format, std::forward<Arguments>(arguments)...);
    if (*left_out > 0) line += fmt::format(" ({} more like it before)", *left_out);
    spdlog::log(level_, "{}", line);
  }

 private:
  const spdlog::level::level_enum level_;
  LogGate gate_;
};

}  // namespace ddprun
