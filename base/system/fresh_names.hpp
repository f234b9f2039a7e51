// Makes names that are unique, and names that cannot be guessed.
#pragma once

#include <string>

namespace ddprun {

/// Returns a random UUID, 36 characters, from /proc/sys/kernel/random/uuid (random(4)), or where
/// that cannot be read, one of getrandom(2).
std::string fresh_id();

/// Returns 256 bits of the system's random numbers (getrandom(2)) as 64 hexadecimal digits; "" when
/// there are none. OpenSSL's would cost its whole start, at each start of ddprun.
std::string fresh_token();

}  // namespace ddprun
