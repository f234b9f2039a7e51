// StayingWorkers: which of this node's workers are alive, and which of them can stay, with their
// memory, while the members of the job change. A worker of the elastic loop says so by itself,
// leaves a round when it is asked to, and is parked until it gets the next one
// (worker_sdk/python/ddprun/_line.py). Pure.
//
//     gone --begin_round--> runs --CanStay--> stays --Parked--> parked --begin_round--> stays
//     gone --begin_beside, or begin_round without a seat for it--> starts --Parked--> parked
//                any but gone --ended--> gone
//
// A worker that was started beside a round has no seat in it, and says that it is Parked in
// kNoRound. If a round begins before that in which it has a seat, it enters that with the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "base/numbers.hpp"

namespace ddprun {

class StayingWorkers {
 public:
  explicit StayingWorkers(int workers);

  /// The workers that are parked, or start beside a round, take part in the round, and all others
  /// are started: those of the `vacant` local ranks beside it.
  void begin_round(int round, const RankList& vacant = {}, int world_size = 0);
  /// All workers that are not alive are started beside a round. None may be in one.
  void begin_beside();
  /// All workers of the round are asked how many steps they have counted.
  void begin_hold();
  /// What a worker says of itself. Words of other rounds come too late, and are passed over.
  void said(const WorkerSaid& word);
  void ended(int local_rank);
  /// None is alive: what was left has been killed.
  void clear();

  /// Whether all workers of the round are alive and can stay.
  bool all_can_stay() const;
  /// Whether that is so, and none has left the round.
  bool all_can_hold() const;
  /// The greatest step that a worker of the round has counted; nullopt: not all have told theirs,
  /// or some do not hold.
  std::optional<std::int64_t> held_at() const;
  /// Whether some workers of the round are alive, and all that are can stay.
  bool living_can_stay() const;
  /// Whether no worker of the round is alive that cannot stay.
  bool none_has_to_end() const { return count({State::kRuns, State::kStarts}) == 0; }
  /// Whether all workers of the round that are alive have left it.
  bool living_are_parked() const { return in_round().empty(); }
  /// How many workers that have no seat in the round are alive.
  int living_beside() const;
  /// Whether some that were started beside the round have not parked yet.
  bool some_start() const;
  /// Whether that worker is beside the round, or beside all rounds.
  bool is_beside(int local_rank) const;
  /// The local ranks of those that are alive and have not left the round.
  RankList in_round() const;
  /// The local ranks that have no seat in the round.
  RankList beside() const;
  /// Those that wait for a round. Where one of them cannot do with more or fewer workers than in
  /// the last one, that has their number.
  ParkedWorkers parked() const;

 private:
  enum class State { kGone, kStarts, kRuns, kStays, kParked };
  struct Worker {
    State state = State::kGone;
    bool has_seat = true;                      // in the round
    std::optional<std::int64_t> held_at = {};  // the step that it has told since it was asked
    bool resizes = true;                       // it can do with more or fewer workers than before
    int world_size = 0;  // the number of workers in its last round; 0: it had none
  };
  std::size_t count(std::initializer_list<State> states) const;

  std::vector<Worker> workers_;  // by local rank
  int round_ = 0;
};

}  // namespace ddprun
