// The clocks that ddprun reads.
#pragma once

#include <chrono>
#include <cstdint>

namespace ddprun {

/// For deadlines and intervals: it never goes back, and means nothing on another machine.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// The time of day, in milliseconds since 1970 (UTC): for what people and other machines read.
inline std::int64_t unix_time_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace ddprun
