#include "base/log.hpp"

#include <spdlog/spdlog.h>

namespace ddprun::log {

namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kCritical:
      break;
  }
  return spdlog::level::critical;
}

}  // namespace

void write(Level level, fmt::string_view format, fmt::format_args arguments) {
  if (spdlog::should_log(level_of(level))) write(level, fmt::vformat(format, arguments));
}

void write(Level level, std::string_view line) {
  spdlog::default_logger_raw()->log(level_of(level),
                                    spdlog::string_view_t{line.data(), line.size()});
}

}  // namespace ddprun::log
