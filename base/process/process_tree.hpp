// Cleans up what workers leave behind: processes that outlived their worker, also those that moved
// to a session of their own. The agent is a subreaper, so they all become its children in the end.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "base/asio.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Makes this process the parent of every orphan below it (PR_SET_CHILD_SUBREAPER, prctl(2)).
/// Errors: kUnavailable, where a filter of system calls refuses, or an emulator as qemu 7.2.
Result<void> adopt_orphans();

/// Reaps the children that have ended, except for `wanted`: somebody waits for those.
void reap_orphans(const std::vector<pid_t>& wanted);

/// Calls `reap` now, and whenever a child has ended, until it returns false or `child_ends` is
/// cancelled. Both are needed: news of a child may be on its way when the set is cancelled. The set
/// is one of SIGCHLD, and is made before the first child that matters.
asio::awaitable<void> keep_reaping(asio::signal_set& child_ends, std::function<bool()> reap);

/// The children of this process, but those that `spared` names.
std::vector<pid_t> children_but(const std::vector<pid_t>& spared);

/// Reaps children until none is left but those that `spared` names, until `deadline`, or until
/// `is_over`, which is asked whenever a child has ended, and twice a second.
asio::awaitable<void> await_descendants(TimePoint deadline,
                                        std::function<std::vector<pid_t>()> spared,
                                        std::function<bool()> is_over);

/// Kills and reaps all children of this process, and theirs, until none is left or `patience` has
/// passed; returns how many were left. The children that `spared` names stay, and must not start
/// any processes meanwhile. Call it when no other child is wanted any more.
asio::awaitable<int> kill_descendants(std::chrono::milliseconds patience,
                                      std::function<std::vector<pid_t>()> spared);

}  // namespace ddprun
