// The messages by which the coordinator learns how far workers are and what they do, and says that
// they hang. Each is one of messages.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/progress.hpp"

namespace ddprun {

// --- agent to coordinator ---

/// How far workers of this node are, as far as that has changed. It goes with a heartbeat.
struct Progress {
  int round = 0;
  std::vector<RankProgress> ranks;  // at most kProgressRanksMax; more go in another message
  bool operator==(const Progress&) const = default;
};
/// The answer to Inspect: what some of this node's workers do. Workers in the same state, at the
/// same place, come in one message; the last one says that it is.
struct Inspected {
  int inspection = 0;
  StackGroup workers;
  bool last = false;
  bool operator==(const Inspected&) const = default;
};

/// A rank in which a debugger is open, or that waits for one.
struct DebuggedRank {
  int rank = -1;
  bool waits = false;  // for a debugger: at a breakpoint, or with an error
  std::string at;      // "train.py:31", as far as it is known
  /// What it waits with: "breakpoint()", "ValueError: no such key"; "" where it does not wait.
  std::string why;
  bool operator==(const DebuggedRank&) const = default;
};
/// Ranks of this node that are debugged, or wait for a debugger: all of them, so an empty list says
/// that none is any more.
struct Debugging {
  int round = 0;
  std::vector<DebuggedRank> ranks;  // at most kProgressRanksMax
  bool operator==(const Debugging&) const = default;
};

// --- coordinator to agent ---

/// The agent is to look at what its workers do, and to answer with Inspected. No worker is
/// disturbed.
struct Inspect {
  int round = 0;
  int inspection = 0;            // counts them
  bool stopping = false;         // the round is stopped afterwards: workers may be disturbed
  std::string first;             // ranks that are to be looked at before all others: "1", "3-7,9"
  std::int64_t patience_ms = 0;  // the answer is to come within that time; 0: within 700 ms
  /// Only the ranks `first` are looked at, and only where they sleep, if they wait for no other
  /// rank there: that costs a worker next to nothing, and may be asked again and again.
  bool sample = false;
  bool operator==(const Inspect&) const = default;
};
/// The workers hang. The agent prints it.
struct HangFound {
  int round = 0;
  HangReport report;
  bool operator==(const HangFound&) const = default;
};
/// The workers that were reported as hanging go on.
struct HangOver {
  int round = 0;
  std::int64_t lasted_ms = 0;
  bool operator==(const HangOver&) const = default;
};
/// All ranks of the job that are debugged, or wait for a debugger. Until the list is empty, no rank
/// is called hung or slow.
struct RanksDebugged {
  int round = 0;
  std::vector<DebuggedRank> ranks;  // at most kProgressRanksMax
  bool operator==(const RanksDebugged&) const = default;
};

/// Lines for people, one for each of the first three ranks: "rank 3 waits at train.py:31 for a
/// debugger (breakpoint()): ddprun debug 3". Of others the last line has the number.
std::vector<std::string> lines_of(const std::vector<DebuggedRank>& ranks);

}  // namespace ddprun
