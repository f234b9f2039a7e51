// WorkerRound: this node's workers in one round after the other. It says when they are started,
// asked for a checkpoint, stopped and killed, when what they left behind is swept, and what is
// reported to the coordinator. Pure.
//
//     idle --start--> running --stop, checkpoint, kill--> stopping --all gone--> sweeping --> idle
//
// What the workers left behind, such as a program whose shell has ended before it, has as long to
// end as they had.
//
// Workers that can stay (StayingWorkers) are asked to leave a round, where the coordinator allows
// it:
//
//     running --leave--> stopping --all gone or parked--> sweeping --> parked --start--> running
//
// If no worker is lost, they hold first, so that all leave after the same step:
//
//     running --hold--> stopping: all hold --leave_after--> all gone or parked, as above
//
// Those of a node that is to join such a round prepare: they are started, and have no seat until a
// round begins that this node is in:
//
//     idle, parked --prepare--> preparing --all parked or gone--> parked (idle: all are gone)
//     preparing --start--> running
//
// Where a round begins in which some of the node's seats are vacant, workers for these prepare in
// the same way, while those that have stayed run.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "agent/decisions/agent_state.hpp"
#include "agent/decisions/staying_workers.hpp"
#include "base/clock.hpp"
#include "base/numbers.hpp"

namespace ddprun {

/// What workers were asked or told last, while they are to end or to leave the round.
/// kSweep: they have ended, and what they left behind is to end.
enum class Asked { kCheckpoint, kHold, kLastStep, kLeave, kSigterm, kSweep, kSigkill };

struct Grace {
  Asked asked;
  TimePoint ends;                           // when they get no more time for that
  std::optional<TimePoint> says_late = {};  // when the user is informed that some take their time
  /// When something is to be done about it.
  TimePoint due() const { return std::min(ends, says_late.value_or(ends)); }
  bool kills() const { return asked == Asked::kSigkill; }
};

class WorkerRound {
 public:
  enum class State { kIdle, kPreparing, kRunning, kStopping, kSweeping, kParked };

  /// `agent` must outlive it.
  explicit WorkerRound(AgentState& agent) : agent_{agent}, staying_{agent.rules.workers} {}

  State state() const { return state_; }
  int number() const { return number_; }
  /// Workers that have not ended, with a seat in the round or without one.
  int alive() const { return alive_; }
  /// How this node's workers have ended in the last round that was started, so far.
  const RoundOutcome& outcome() const { return outcome_; }

  /// Workers are started while a round goes on without this node. Where they are, or are about to
  /// be, nothing more is done. Where none could say that it waits, none is started.
  void prepare(const StartRound& place, TimePoint now);
  void start(const StartRound& order);
  void exited(const WorkerExited& worker, TimePoint now);
  void said(const WorkerSaid& word, TimePoint now);
  /// Nothing that the workers left behind is alive, but those that are parked.
  void swept();
  const std::optional<Grace>& grace() const { return grace_; }
  /// Those that wait for the next round.
  ParkedWorkers parked() const;

  void stop(int signal, TimePoint now);
  /// Workers that can stay are only asked to leave the round, but those of these local ranks: they
  /// would not hear it. Where some cannot stay, all are stopped.
  void leave(const RankList& hung, TimePoint now);
  /// No worker is lost: those that can stay are asked to count no further step until LeaveAfter
  /// says how far to go. Where that fails, they leave at once.
  void hold(TimePoint now);
  /// Workers may end by themselves once they have written it, with whatever code.
  void stop_after_checkpoint(std::chrono::milliseconds time, TimePoint now);
  /// Others may begin a round, so that the workers have no time left.
  void stop_at_once(TimePoint now);

  /// Workers that are being stopped get that time at most from now on.
  void shorten_grace(std::chrono::milliseconds time, TimePoint now);
  /// Does what is due by now: reports workers that take their time, or kills them.
  void check_grace(TimePoint now);

  /// Other nodes may begin a round at that time, so nothing of this one may be alive by then.
  void set_dead_by(std::optional<TimePoint> dead_by) { dead_by_ = dead_by; }
  std::optional<TimePoint> dead_by() const { return dead_by_; }
  /// Workers that are being stopped must be dead by that time.
  void hurry(TimePoint now);

  /// Tells of the round what the last connection may have lost.
  void tell_again();
  /// Tells how the workers ended, and that they are stopped.
  void tell_stopped();

 private:
  void sweep(TimePoint now);
  void kill(TimePoint now);
  void go_on_when_held(const WorkerWord& word, TimePoint now);
  void give_up_hold(TimePoint now);
  void go_on_when_parked(TimePoint now);
  void tell_whether_all_stay();

  AgentState& agent_;
  State state_ = State::kIdle;
  int number_ = 0;
  int alive_ = 0;
  StayingWorkers staying_;
  RoundOutcome outcome_;
  std::optional<WorkerFailed> failed_;  // the failure that was reported
  std::optional<Grace> grace_;          // for the workers to end
  std::optional<TimePoint> dead_by_;
};

/// What the workers were asked last; nullopt: nothing.
std::optional<Asked> asked(const WorkerRound& round);
/// Workers are alive, and were not asked to end.
bool goes_on(const WorkerRound& round);
/// Its workers hold, or go on to the step behind which they leave.
bool holds(const WorkerRound& round);

/// When the lease of the workers ends; nullopt: they may live as long as the connection. With a
/// `ddprun server`, which has no successor, the lease is theirs alone.
std::optional<TimePoint> lease_ends(const AgentState& agent, const WorkerRound& round);
/// Whether they outlive a connection that has ended, as long as their lease.
bool may_outlive_connection(const AgentState& agent, const WorkerRound& round, TimePoint now);

/// Nothing of it is alive, but workers that have left it and are parked, or are of no round yet.
inline bool is_over(const WorkerRound& round) {
  using State = WorkerRound::State;
  const State state = round.state();
  return state == State::kIdle || state == State::kParked || state == State::kPreparing;
}

}  // namespace ddprun
