// Names and numbers in messages, and their limits: what exceeds one is refused, and the sender's
// connection is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

/// An agent process's name for itself, which no other agent has, and which it keeps for its life: 1
/// to kNodeIdBytesMax bytes.
using NodeId = std::string;

/// All nodes of a job and its coordinator must have the same version.
inline constexpr int kProtocolVersion = 1;

inline constexpr std::size_t kLineBytesMax = 384 * 1024;  // a message with its newline
inline constexpr std::size_t kNodeIdBytesMax = 64;
inline constexpr std::size_t kRunIdBytesMax = 1024;
inline constexpr std::size_t kRoleBytesMax = 256;
inline constexpr int kWorkersPerNodeMax = 65'536;
/// As many nodes, each with kWorkersPerNodeMax workers, still have ranks that fit an int.
inline constexpr int kNodesMax = 32'767;

/// At most this many nodes are named as possible successors of a lost coordinator.
inline constexpr std::size_t kSuccessorsMax = 3;
inline constexpr std::size_t kEndpointBytesMax = 300;  // the length of HOST:PORT
/// A job may name at most this many places at which its coordinator may be.
inline constexpr std::size_t kPlacesMax = 16;

/// The longest time in a message, 30 days; the command line accepts as much.
inline constexpr std::int64_t kTimeoutMsMax = 30LL * 24 * 3600 * 1000;
/// With a shorter timeout an agent would beat more often than every 20 ms, and a scheduler's hiccup
/// would be a lost node.
inline constexpr std::int64_t kHeartbeatTimeoutMsMin = 100;
/// For numbers that count something from 1: there is no job that gets so far, and twice of it fits
/// an int.
inline constexpr int kCountMax = 1'000'000'000;
/// The greatest step of Holding is smaller, because LeaveAfter tells one more.
inline constexpr int kHeldStepMax = kCountMax - 1;

}  // namespace ddprun
