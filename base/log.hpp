// Writes to the log. Programs decide where it goes: launcher/run/log.hpp.
//
// These functions stand in front of spdlog, because its own are templates that bring fmt's whole
// formatter into each file that logs: 40 KB and a second of compilation.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace ddprun::log {

enum class Level { kDebug, kInfo, kWarning, kError, kCritical };

/// Writes a line, unless the log leaves out lines of that level.
void write(Level level, fmt::string_view format, fmt::format_args arguments);
void write(Level level, std::string_view line);

template <typename... Arguments>
void debug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kDebug, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void info(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kInfo, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void warn(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kWarning, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void error(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write(Level::kError, format, fmt::make_format_args(arguments...));
}

}  // namespace ddprun::log
