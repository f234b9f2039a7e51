// What the restarts of a job cost, and how much of its time went into training. The coordinator
// measures it (rendezvous/watch/restart_clock.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

/// So many restarts are told at the end of a job: the last ones.
inline constexpr std::size_t kRestartsToldMax = 64;

/// The times of one restart, each from the end of the one before it, in milliseconds; -1: not
/// known.
struct RestartTimes {
  int round = 0;              // that began with it
  int from_round = 0;         // that was stopped for it
  std::string reason;         // why it was stopped
  double detected_ms = -1;    // from the failure until the stop was ordered
  double stopped_ms = -1;     // until nothing of the round was alive on any node
  double sealed_ms = -1;      // until enough nodes were there for the next one
  double started_ms = -1;     // until all nodes had started their workers
  double first_step_ms = -1;  // until the first of these workers showed progress
  bool in_place = false;      // the workers that could stay did, parked
  bool awaits_step = false;   // a first step is late: workers showed progress in a round before
  bool operator==(const RestartTimes&) const = default;
};

/// Where the time of a job went.
struct Goodput {
  double wall_s = 0;             // all of it, from the coordinator's start
  double training_s = 0;         // from a round's first sign of progress to its end
  double restarts_s = 0;         // from a failure until the workers had come as far as a first step
  std::int64_t restarts = 0;     // so many there were
  std::int64_t lost_steps = -1;  // that were done once more after restarts; -1: nobody told steps
  double lost_s = 0;             // that these had taken
  /// How much of the time went into training that was not lost; -1: nobody told steps, so that
  /// nobody knows what was lost.
  double goodput_percent = -1;
  bool operator==(const Goodput&) const = default;
};

}  // namespace ddprun
