// The two clocks that ddprun reads: one for intervals, one for people.
#pragma once

#include <chrono>
#include <cstdint>

namespace ddprun {

/// The clock for deadlines and intervals. It never goes back, and its times mean nothing on another
/// machine.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// Returns a time of Clock as a number of microseconds.
inline std::int64_t microseconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// Returns the milliseconds since `begin`, with their fraction.
inline double ms_since(TimePoint begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Returns the time of day, in milliseconds since 1970 (UTC), for what people and other machines
/// read.
inline std::int64_t unix_time_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// Returns the time of day in microseconds, as clocks of several nodes are compared.
inline std::int64_t unix_time_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace ddprun
