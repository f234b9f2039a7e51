// NodePolicy: when a node that was the cause of failures is left out of a job's rounds. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

inline constexpr int kNodeStrikes = 3;                     // where failures are kept in a folder
inline constexpr std::int64_t kNodeWindowMs = 86'400'000;  // a day
/// This many failures of nodes are remembered, the last ones.
inline constexpr int kNodeFailuresMax = 1000;

struct NodePolicy {
  /// A node that was the cause of this many failures takes part only while others are too few; 0:
  /// failures are not counted.
  int strikes = 0;
  std::int64_t window_ms = kNodeWindowMs;  // in which they have to lie
  bool operator==(const NodePolicy&) const = default;
};

/// A policy as the command line spells it: "3/1d"; "0": nobody counts.
std::string strikes_text(const NodePolicy& policy);

}  // namespace ddprun
