// The messages by which workers stay while members of their round change: docs/internals/rounds.md.
#pragma once

#include <cstdint>
#include <string>

namespace ddprun {

/// Workers of a node that have left their round, and wait for the next one.
struct ParkedWorkers {
  std::string local_ranks;  // "0,2-5"; "": there are none
  int world_size = 0;       // some of them enter a round of this many workers only; 0: none does
  bool operator==(const ParkedWorkers&) const = default;
};
/// All workers of this node can stay, parked, when members of the round change; or no longer.
/// Without this message they cannot.
struct WorkersStay {
  int round = 0;
  bool stay = false;
  bool operator==(const WorkersStay&) const = default;
};
/// The answer to Prepare: the node's workers are parked, or have ended, and it may join the round.
/// A node of the round says the same of those that were started in vacant seats.
struct Prepared {
  bool operator==(const Prepared&) const = default;
};
/// The answer to a StopRound that is `gently`: no worker of this node begins to count another step.
/// A worker says the same of itself to its agent.
struct Holding {
  int round = 0;
  std::int64_t step = 0;  // the greatest one that is counted; -1: they do not hold, or no longer
  bool operator==(const Holding&) const = default;
};
/// All workers of the round hold. They go on to that step, and leave the round behind it.
struct LeaveAfter {
  int round = 0;
  std::int64_t step = 0;
  bool operator==(const LeaveAfter&) const = default;
};

}  // namespace ddprun
