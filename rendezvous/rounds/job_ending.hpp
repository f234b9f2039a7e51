// JobEnding decides how long nodes stay after the job's end. Pure.
//
// All nodes end alike, also when the coordinator is lost while it ends the job. So an end may be
// held: every agent says that it has heard of it, and stays until all have. docs/succession.md,
// section "How a job ends".
#pragma once

#include <chrono>
#include <optional>

#include "rendezvous/rounds/coordinator_events.hpp"

namespace ddprun {

/// All nodes have so long to say that they have heard of the job's end, before they are let go.
inline constexpr std::chrono::milliseconds kEndingPatience{1'000};

class JobEnding {
 public:
  /// Whether the job is over, although some nodes may not know it yet.
  bool is_over() const { return state_ != State::kNo; }
  /// Whether all know it, or have had their time.
  bool is_complete() const { return state_ == State::kComplete; }

  /// Tells all nodes that the job ends so. `held`: they stay until all have heard it.
  void begin(const EndJob& verdict, bool held, Roster& nodes, Outbox& out, TimePoint now);
  /// The node has heard it, or is gone.
  void acknowledge(Roster::Node& node);
  /// Lets nodes go when all have heard it, or the time is over.
  void advance(const Roster& nodes, Outbox& out, TimePoint now);
  std::optional<TimePoint> next_due() const {
    return state_ == State::kHeld ? std::optional{held_until_} : std::nullopt;
  }

 private:
  enum class State { kNo, kHeld, kComplete };
  State state_ = State::kNo;
  int unaware_ = 0;  // nodes that may not know it
  TimePoint held_until_;
};

}  // namespace ddprun
