// judge_end() decides what the end of one worker was: what failed, where, and whether it failed by
// itself. Pure.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/verdict/stream_end.hpp"

namespace ddprun {

/// All that an agent knows about a worker that has ended.
struct EndClues {
  int rank = 0;
  ExitStatus status;
  bool started = true;     // there was a process
  TimePoint ended;         // when it was gone
  bool stop_sent = false;  // ddprun had asked it to stop while it was alive
  TimePoint stop_sent_at;  // has a meaning if `stop_sent` is set
  std::string message;     // the exception's that it recorded; "": it did not
  std::string traceback;   // that exception's
  StreamEnd err;
  StreamEnd out;
  std::string kernel;  // words on the kernel's out-of-memory killer; "": none
  std::string
      timer;  // "its timer 'x' expired after 2 s", because of which it got a signal; else ""
};

/// A traceback this long before the worker ended, or ddprun stopped it, does not belong to its end:
/// the worker had caught it, and went on. Tearing down a large program takes seconds.
inline constexpr std::chrono::seconds kTearDownMax{10};

/// The times in it are those of this machine's Clock, in microseconds.
WorkerEnd judge_end(const EndClues& clues);

/// Whether it has lost the connection to another worker, as far as its words tell.
bool lost_a_peer(const WorkerEnd& end);

/// What the end of a worker tells of why its round fails; what tells more comes first.
enum class Explains {
  kCause,   // it may be the cause itself
  kWaits,   // it has waited in vain: others have not come, and are there perhaps
  kNothing  // others are gone
};
Explains explains(const WorkerEnd& end);

}  // namespace ddprun
