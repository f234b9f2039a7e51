// Makes what nobody can guess, for URLs and headers.
#pragma once

#include <string>

namespace ddprun {

/// Returns 256 bits of the system's random numbers (getrandom(2)) as 64 hexadecimal digits; "" when
/// there are none. OpenSSL's would cost its whole start, at each start of ddprun.
std::string fresh_token();

}  // namespace ddprun
