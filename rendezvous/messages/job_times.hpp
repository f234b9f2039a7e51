// What the restarts of a job cost, and how much of its time went into training. The coordinator
// measures it (rendezvous/watch/restart_clock.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

/// At most this many restarts are reported at the end of a job: the last ones.
inline constexpr std::size_t kRestartsToldMax = 64;

/// The times of one restart, each from the end of the one before it, in milliseconds; -1: not
/// known.
struct RestartTimes {
  int round = 0;                  // that began with it
  int from_round = 0;             // that was stopped for it
  std::string reason;             // why it was stopped
  double detected_ms = -1;        // from the failure until the stop was ordered
  double stopped_ms = -1;         // until nothing of the round was alive on any node
  double sealed_ms = -1;          // until enough nodes were there for the next one
  double started_ms = -1;         // until all nodes had started their workers
  double first_step_ms = -1;      // until the first of these workers showed progress
  bool in_place = false;          // the workers that could stay did, parked
  bool awaits_step = false;       // a first step is late: workers showed progress in a round before
  bool first_step_seen = false;   // by a look from time to time: it was done by then, or before
  bool nobody_lost = false;       // the workers have only left the round to take others in
  std::int64_t steps_again = -1;  // that were done once more in the round; -1: not known
  bool again_at_least = false;    // more may have been: the first step was not seen
  bool operator==(const RestartTimes&) const = default;
};

/// Where the time of a job went.
struct Goodput {
  double wall_s = 0;          // all of it, from the coordinator's start
  double training_s = 0;      // from a round's first sign of progress to its end
  double restarts_s = 0;      // from a failure until the workers had come as far as a first step
  std::int64_t restarts = 0;  // how many there were, because something was lost
  std::int64_t lost_steps =
      -1;             // that were done once more after restarts; -1: no steps were reported
  double lost_s = 0;  // that these had taken
  /// How much of the time after the start-up went into training that was not lost; -1: no
  /// steps were reported, so the loss is unknown.
  double goodput_percent = -1;
  /// Until the first sign of progress, without restarts before it; -1: none was seen.
  double startup_s = -1;
  std::int64_t changes = 0;  // rounds that were begun to take others in; restarts_s has their time
  bool lost_at_least = false;  // more may be lost: after a restart the first step was not seen
  bool operator==(const Goodput&) const = default;
};

}  // namespace ddprun
