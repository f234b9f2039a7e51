// JobState: how far a job is, and how it is to end. Rounds, failures and the end of the job share
// it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "rendezvous/messages/end_messages.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/membership_messages.hpp"

namespace ddprun {

struct JobState {
  JobCounters counters;           // the last round that was sealed, and the restarts so far
  std::optional<EndJob> verdict;  // how the job ends, as soon as every node has stopped
  std::int64_t step = -1;         // the greatest one that a worker reported; -1: none
  /// The same since all workers were started: a checkpoint may have sent them back.
  std::int64_t step_since_start = -1;
  std::int64_t first_since_start = -1;  // the first one since then

  void reached(std::int64_t told) {
    step = std::max(step, told);
    if (first_since_start < 0) first_since_start = told;
    step_since_start = std::max(step_since_start, told);
  }
  void workers_start() { step_since_start = first_since_start = -1; }
  /// How many they have made since then; -1: they tell none.
  std::int64_t steps_since_start() const {
    if (step < 0) return -1;
    return first_since_start < 0 ? 0 : step_since_start - first_since_start;
  }
  /// Somebody who is believed knows that the job is as far as that.
  void reach(const JobCounters& known) {
    counters.round = std::max(counters.round, known.round);
    counters.attempt = std::max(counters.attempt, known.attempt);
  }
  /// The attempt of the next round. Agents get it when a round stops, so that the failure that
  /// stops it counts even if this coordinator does not live to the next one.
  int next_attempt() const {
    return verdict && is_failure(verdict->outcome) ? counters.attempt + 1 : counters.attempt;
  }
};

}  // namespace ddprun
