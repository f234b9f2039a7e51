// StayingWorkers: which of this node's workers are alive, and which of them can stay, with their
// memory, while the members of the job change. A worker of the elastic loop says so by itself,
// leaves a round when it is asked to, and is parked until it is told the next one
// (worker_sdk/python/ddprun/_line.py). Pure.
//
//     gone --begin_round--> runs --CanStay--> stays --Parked--> parked --begin_round--> stays
//     gone --begin_beside--> starts --Parked--> parked
//                any but gone --ended--> gone
//
// One that was started beside a round says that it is Parked in kNoRound. Where a round begins
// before that, it gets its place there with the answer.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/decisions/agent_events.hpp"

namespace ddprun {

class StayingWorkers {
 public:
  explicit StayingWorkers(int workers);

  /// The workers that are parked, or start beside a round, take part in the round, and all others
  /// are started.
  void begin_round(int round);
  /// All workers are started beside a round. None may be alive.
  void begin_beside();
  /// What a worker says of itself. Words of other rounds come too late, and are passed over.
  void said(const WorkerSaid& word);
  void ended(int local_rank);
  /// None is alive: what was left has been killed.
  void clear();

  /// Whether all workers of the node are alive and can stay.
  bool all_can_stay() const;
  /// Whether some are alive, and all that are can stay.
  bool living_can_stay() const;
  /// Whether some are alive, and all that are have left the round.
  bool living_are_parked() const;
  /// Whether some that were started beside a round have not parked yet.
  bool some_start() const { return count(State::kStarts) > 0; }
  /// The local ranks of those that are alive and have not left the round.
  std::vector<int> in_round() const;

 private:
  enum class State { kGone, kStarts, kRuns, kStays, kParked };
  std::size_t count(State state) const;

  std::vector<State> workers_;  // by local rank
  int round_ = 0;
};

}  // namespace ddprun
