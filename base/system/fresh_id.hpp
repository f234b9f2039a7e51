// fresh_id(): a name that nobody else has.
#pragma once

#include <string>

namespace ddprun {

/// Returns a random UUID, 36 characters, from /proc/sys/kernel/random/uuid (random(4)), or where
/// that cannot be read, one of getrandom(2).
std::string fresh_id();

}  // namespace ddprun
