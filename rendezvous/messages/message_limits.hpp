// What a message may say, beyond being well-formed: numbers within sane bounds, names that are not
// too long. Whoever decodes a message checks it, so that nobody further in has to.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "rendezvous/messages/messages.hpp"

namespace ddprun {

/// The longest time in a message, 30 days; the command line accepts as much.
inline constexpr std::int64_t kTimeoutMsMax = 30LL * 24 * 3600 * 1000;
/// With a shorter timeout an agent would beat more often than every 20 ms, and a scheduler's hiccup
/// would be a lost node.
inline constexpr std::int64_t kHeartbeatTimeoutMsMin = 100;
/// As many nodes, each with kWorkersPerNodeMax workers, still have ranks that fit an int.
inline constexpr int kNodesMax = 32'767;
/// For numbers that count something from 1: there is no job that gets so far, and twice of it fits
/// an int.
inline constexpr int kCountMax = 1'000'000'000;
/// The greatest step of Holding is smaller, because LeaveAfter tells one more.
inline constexpr int kHeldStepMax = kCountMax - 1;

/// Checks the numbers and names of a message. Errors: kInvalid, a sentence with the name of what is
/// wrong, its value, the host where that is known, and what was expected.
Result<void> check(const AgentMessage& message);
Result<void> check(const CoordinatorMessage& message);

}  // namespace ddprun
