// How long something has taken.
#pragma once

#include <chrono>

#include "base/clock.hpp"

namespace ddprun {

/// Returns the milliseconds since `begin`, with their fraction.
inline double ms_since(TimePoint begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace ddprun
