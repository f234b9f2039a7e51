// The text that tells a user why the job failed: one report, from the first worker that did. Pure.
#pragma once

#include <string>

#include "rendezvous/messages.hpp"

namespace ddprun {

/// "rank 1 (local rank 1 on host a, pid 4711) was killed by SIGKILL (signal 9)".
std::string summarize(const WorkerFailure& failure);

/// Several lines, the last one ended: what failed, where, its exception and its last lines.
/// `attempts`: how often the job was run in all.
std::string failure_report(const WorkerFailure& failure, int attempts);

}  // namespace ddprun
