// Makes secrets.
#pragma once

#include "base/result.hpp"
#include "rendezvous/transport/secret.hpp"

namespace ddprun {

/// Returns a secret of the system's random numbers (getrandom(2)). Errors: kUnavailable.
Result<Secret> fresh_secret();

}  // namespace ddprun
