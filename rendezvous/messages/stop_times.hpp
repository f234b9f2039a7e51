// Times that agents and the coordinator both count on: the coordinator waits for a node as long as
// it takes at most to end the workers of a round, once their time to end by themselves is over.
// Pure.
#pragma once

#include <chrono>

namespace ddprun {

/// Time in which a worker may vanish after SIGKILL before it is given up with a warning.
inline constexpr std::chrono::milliseconds kKillTimeout{10'000};
/// Time in which what workers left behind may vanish after SIGKILL.
inline constexpr std::chrono::milliseconds kSweepTimeout{5'000};

/// A worker that only lost a peer stops the round after this delay, unless the peer's own failure
/// arrives first: tearing a large program down takes its time, and its connections are closed early
/// in that.
inline constexpr std::chrono::seconds kCausePatience{2};

/// Time that a process whose agent has ended gives its connections, and an etcd, for last words.
inline constexpr std::chrono::milliseconds kLastWords{2'000};

}  // namespace ddprun
