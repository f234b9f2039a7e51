// WorkerEnd: how a worker ended, as its agent has understood it; Verdict: why the job failed, as
// the coordinator has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.hpp"

namespace ddprun {

/// A node reports at most this many different ends, those that may be the cause first.
inline constexpr std::size_t kWorkerEndsMax = 12;

/// What a failure is, by the best evidence that there is.
enum class FailureKind {
  kExitCode,     // it exited with a code, and no more is known
  kSignal,       // a signal killed it
  kException,    // an uncaught exception of Python or C++, or what a sanitizer found
  kOutOfMemory,  // the kernel killed it for want of memory
  kHang,         // it was stopped because the workers hung
  kNodeLost,     // its node is gone
  kCannotStart,  // its program could not be started
};

/// Names who is to blame for the end of a worker, as far as its own agent can tell.
enum class Blame {
  kOwn,      // it failed by itself
  kPerhaps,  // it seems to have failed, but ddprun stopped it before it had ended
  kFollows,  // it says what the end of another worker brings about, as that a connection was reset
  kStopped,  // it ended because ddprun ordered it
  kDone,     // it exited with code 0, without an order
};

/// The consequence of another worker's end, where an end only follows from that one.
enum class Consequence {
  kNone,
  kCollectiveTimedOut,  // others have not reached a collective in time, and are there perhaps
  kConnectionClosed,    // by the peer
  kConnectionReset,
  kBrokenPipe,
  kNcclLostRank,
  kConnectionRefused,
  kConnectionTimedOut,
  kNodeUnreachable,
  kStoreLost,
  kStoreTimedOut,  // others have not set a key of the store in time, and are there perhaps
  kForeignSignal,  // a signal that asks for an end, and that ddprun has not sent
};

/// What was raised, and where.
struct Fault {
  std::string type;     // "KeyError", "std::runtime_error", "Segmentation fault"; "": not known
  std::string message;  // the first lines of it; without a type the last line on stderr
  std::string file;     // as the traceback names it; "": not known
  int line = 0;
  std::string function;
  bool operator==(const Fault&) const = default;
};

struct WorkerEnd {
  std::string ranks;  // those that share this end: "0,2-5"
  FailureKind kind = FailureKind::kExitCode;
  Blame blame = Blame::kStopped;
  Consequence consequence = Consequence::kNone;  // kFollows: what it has lost
  ExitStatus status;
  Fault fault;
  std::string stack;  // where the fault is, innermost first: "FUNCTION<tab>FILE<tab>LINE" lines
  std::string says;   // for people: "connection reset", its last line, or what the kernel did
  std::string hint;   // advice in one line; usually ""
  std::int64_t began_us = 0;  // when the first sign of its end was seen, by the coordinator's clock
  std::int64_t ended_us = 0;  // when the process was gone
  bool operator==(const WorkerEnd&) const = default;
};

// Verdict: why the job failed, for all of its nodes. The coordinator makes it from what all agents
// have reported (rendezvous/verdict).

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
  bool stopped_by_us = false;  // ddprun ordered them to end
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
