// WorkerEnd: how a worker ended and what it said of it, in brief, as its agent has understood it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/failure.hpp"

namespace ddprun {

/// A node reports at most this many different ends, those that may be the cause first.
inline constexpr std::size_t kWorkerEndsMax = 12;

/// What a failure is, by the best evidence that there is.
enum class FailureKind {
  kExitCode,     // it exited with a code, and nobody knows more
  kSignal,       // a signal killed it
  kException,    // an exception of Python or C++ that nobody has caught, or what a sanitizer found
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
  kStopped,  // it ended because ddprun had told it to
  kDone,     // it exited with code 0, and nobody had told it to
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

}  // namespace ddprun
