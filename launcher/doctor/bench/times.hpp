// How long something has taken, and the time of day, as clocks of several nodes are compared.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace ddprun {

/// Returns the milliseconds since `begin`, with their fraction.
inline double ms_since(TimePoint begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns the time of day in microseconds since 1970 (UTC).
inline std::int64_t unix_time_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace ddprun
