// The moment at which tests of the leadership begin, and the heartbeat timeout that they have.
#pragma once

#include <chrono>

#include "base/clock.hpp"

namespace ddprun {

inline constexpr TimePoint kStart{std::chrono::hours{1}};
inline constexpr std::chrono::milliseconds kTimeout{1'000};

}  // namespace ddprun
