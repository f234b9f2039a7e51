// StayingWorkers: which of this node's workers are alive, which of them can stay, with their
// memory, while the members of the job change. A worker of the elastic loop
// says so by itself, leaves a round when it is asked to, and is parked until it gets the next one
// (worker_sdk/python/ddprun/_line.py). Pure.
//
//     gone --begin_round--> runs --CanStay--> stays --Parked--> parked --begin_round--> stays
//     gone --prepare, or begin_round with its seat vacant--> starts --Parked--> parked
//                any but gone --ended--> gone
//
// A worker that prepares has no seat in a round, and says that it is Parked in kNoRound. If a round
// begins before that in which it has a seat, it enters that with the answer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "base/numbers.hpp"

namespace ddprun {

class StayingWorkers {
 public:
  explicit StayingWorkers(int workers);

  /// The workers that are parked, or prepare, take part in the round, and all others are started:
  /// those of the `vacant` local ranks prepare.
  void begin_round(int round, const RankList& vacant = {}, int world_size = 0);
  /// All prepare, and none has a seat: those that are not alive are started. None may be in a
  /// round.
  void prepare();
  /// What a worker says of itself. Words of other rounds come too late, and are passed over.
  void said(const WorkerSaid& word);
  void ended(int local_rank);
  /// None is alive: what was left has been killed.
  void clear();
  /// All are asked how many steps they have counted, and then leave in place. Returns false if some
  /// cannot stay, or have left already.
  bool hold();
  /// All leave in place: those that are parked go on living. Returns false if some cannot.
  bool leave();
  /// All of them have to end.
  void end() { in_place_ = false; }
  /// Whether workers that have left the round go on living.
  bool in_place() const { return in_place_; }
  /// Whether all workers of the round that are alive have left it.
  bool have_left() const { return to_leave().empty(); }
  /// The local ranks of those that are alive and have not left the round.
  RankList to_leave() const { return those(true, {State::kStarts, State::kRuns, State::kStays}); }
  /// The greatest step that a worker of the round has counted; nullopt: not all have reported
  /// theirs, or some do not hold.
  std::optional<std::int64_t> held_at() const;
  /// Whether all workers of the round are alive and can stay.
  bool all_can_stay() const;
  /// What the coordinator does not know of that; nullopt: nothing. `one_failed`: an error that ends
  /// a worker has let it leave its loop before, so that it could not stay any more; others can.
  std::optional<WorkersStay> report(bool one_failed = false);
  /// Whether it has heard that they can.
  bool has_reported() const { return reported_ == Stays::kYes; }
  /// It may not have got the last report. Returns whether that was that they can.
  bool forget_report() { return std::exchange(reported_, Stays::kUnknown) == Stays::kYes; }
  /// Those that wait for a round. Where one of them cannot do with more or fewer workers than in
  /// the last one, that has their number.
  ParkedWorkers parked() const;
  /// Whether some have no seat in the round, and all of these are parked or have ended.
  bool are_prepared() const {
    return !without_seat().empty() && those(false, {State::kStarts}).empty();
  }
  /// How many workers are alive that have no seat in the round.
  int living_without_seat() const;
  bool has_seat(int local_rank) const { return !has_rank(without_seat(), local_rank); }
  /// The local ranks that have no seat in the round.
  RankList without_seat() const;

 private:
  enum class State { kGone, kStarts, kRuns, kStays, kParked };
  struct Worker {
    State state = State::kGone;
    bool has_seat = true;                      // in the round
    std::optional<std::int64_t> held_at = {};  // the step that it reported since it was asked
    bool resizes = true;                       // it can do with more or fewer workers than before
    int world_size = 0;  // the number of workers in its last round; 0: it had none
  };
  RankList those(bool with_seat, std::initializer_list<State> states) const;
  bool none_has_to_end() const { return those(true, {State::kRuns, State::kStarts}).empty(); }

  std::vector<Worker> workers_;  // by local rank
  int round_ = 0;
  bool in_place_ = false;
  /// The last report to the coordinator on whether all of the round can stay.
  enum class Stays { kUnknown, kYes, kNoMore } reported_ = Stays::kUnknown;
};

}  // namespace ddprun
