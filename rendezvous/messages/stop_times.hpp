// How long an agent takes at most to end the workers of a round, once their time to end by
// themselves is over. The coordinator waits for a node as long as that, and no longer. Pure.
#pragma once

#include <chrono>

namespace ddprun {

/// Time in which a worker may vanish after SIGKILL before it is given up with a warning.
inline constexpr std::chrono::milliseconds kKillTimeout{10'000};
/// Time in which what workers left behind may vanish after SIGKILL.
inline constexpr std::chrono::milliseconds kSweepTimeout{5'000};

/// Time that a process whose agent has ended gives its connections, and an etcd, for last words.
inline constexpr std::chrono::milliseconds kLastWords{2'000};

}  // namespace ddprun
