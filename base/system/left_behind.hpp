// A thread for what may wait for ever, such as a disk or a name server.
#pragma once

#include <functional>

#include "base/result.hpp"

namespace ddprun {

/// Runs `work` in a thread that takes no signals. Nobody waits for its end, neither does the
/// process that it is in: so all that it touches has to belong to `work`. Errors: kUnavailable,
/// where the user's limit of processes allows no more (RLIMIT_NPROC).
Result<void> start_left_behind(std::function<void()> work);

}  // namespace ddprun
