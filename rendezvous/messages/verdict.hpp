// Verdict: why the job failed, for all of its nodes. The coordinator makes it from what all agents
// have told (rendezvous/verdict).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/messages/worker_end.hpp"

namespace ddprun {

inline constexpr std::size_t kHostBytesMax = 256;  // a node's name for people
inline constexpr std::size_t kOtherCausesMax = 4;
inline constexpr std::size_t kFollowersMax = 16;

/// A failure that follows from no other one.
struct Cause {
  FailureKind kind = FailureKind::kExitCode;
  std::string ranks;  // that failed alike: "1", "0-7"
  std::string node;   // the name of the first one's node
  ExitStatus status;  // the first one's; it means nothing for kHang and kNodeLost
  Fault fault;
  std::string stack;        // as WorkerEnd's
  std::string sentence;     // for people: one line
  std::string hint;         // advice in one line; usually ""
  std::string fingerprint;  // equal for equal roots, whichever its rank, attempt and job
  bool operator==(const Cause&) const = default;
};

/// Workers that ended because of the cause.
struct Followers {
  std::string ranks;
  FailureKind kind = FailureKind::kExitCode;
  std::string what;            // "connection reset", "stopped by ddprun"
  std::int64_t after_us = 0;   // the first of them, after the cause
  bool stopped_by_us = false;  // ddprun had told them to end
  bool operator==(const Followers&) const = default;
};

struct Verdict {
  Cause cause;
  std::vector<Cause> also;           // that seem to have nothing to do with it
  std::vector<Followers> followers;  // the first ones first
  /// "failed 3 times at train.py:88 with the same KeyError, no step gained"; "": it has not.
  std::string history;
  /// Why the workers are not restarted once more, though not all restarts are made: "the same
  /// failure 3 times, no step gained (--same-failure-limit 3)"; usually "".
  std::string no_restart;
  bool operator==(const Verdict&) const = default;
};

}  // namespace ddprun
