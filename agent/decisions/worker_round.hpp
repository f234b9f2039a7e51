// WorkerRound: this node's workers in one round after the other. It says when they are started,
// asked for a checkpoint, stopped and killed, when what they left behind is swept, and what the
// coordinator is told of them. Pure.
//
//     idle --start--> running --stop, checkpoint, kill--> stopping --all gone--> sweeping --> idle
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "agent/decisions/agent_state.hpp"
#include "base/clock.hpp"

namespace ddprun {

class WorkerRound {
 public:
  enum class State { kIdle, kRunning, kStopping, kSweeping };

  /// `agent` must outlive it.
  explicit WorkerRound(AgentState& agent) : agent_{agent} {}

  State state() const { return state_; }
  int number() const { return number_; }
  /// How this node's workers have ended in the last round that was started, so far.
  const RoundOutcome& outcome() const { return outcome_; }

  void start(const StartRound& order);
  void exited(const WorkerExited& worker, TimePoint now);
  /// Nothing that the workers left behind is alive.
  void swept() { state_ = State::kIdle; }

  void stop(int signal, TimePoint now);
  /// Workers may end by themselves once they have written it, with whatever code.
  void stop_after_checkpoint(std::chrono::milliseconds time, TimePoint now);
  /// Others may begin a round, so that the workers have no time left.
  void stop_at_once(TimePoint now);
  bool asks_for_checkpoint() const;

  /// Workers that are being stopped get that time at most from now on.
  void shorten_grace(std::chrono::milliseconds time, TimePoint now);
  /// They get no more time for what they do now.
  void end_grace(TimePoint now);
  std::optional<TimePoint> grace_ends() const;

  /// When the lease of the workers ends; nullopt: they may live as long as the connection. With a
  /// `ddprun server`, which nobody follows, the lease is theirs alone.
  std::optional<TimePoint> lease_ends() const;
  /// Whether they outlive a connection that has ended, as long as their lease.
  bool may_outlive_connection(TimePoint now) const;
  /// Others may begin a round then, so nothing of this one may be alive.
  void set_fence(TimePoint fence) { fence_ = fence; }
  std::optional<TimePoint> fence() const { return fence_; }
  void drop_fence() { fence_.reset(); }
  /// Workers that are being stopped have no more time than the fence leaves them.
  void hurry(TimePoint now);

  void progressed(const RankProgress& progress, TimePoint now);
  /// Tells in the beats how far the workers are, so that a job of ten thousand workers is no more
  /// trouble than its nodes are.
  void tell_progress(TimePoint now);
  /// Tells of the round what the last connection may have lost. A coordinator that `forgot` all has
  /// to hear how far the workers are, too.
  void tell_again(bool forgot);
  /// Tells how the workers ended, and that they are stopped.
  void tell_stopped();

 private:
  struct Grace {
    enum class For { kCheckpoint, kSigterm, kSigkill };
    For what;  // was the last thing that workers were asked or told
    TimePoint ends;
  };
  struct Progressed {
    RankProgress progress;
    TimePoint at;
  };

  void note_end(const WorkerExited& worker);
  void tell_of_own_cause();
  void sweep();
  void kill(TimePoint now);
  bool is_killed() const { return grace_ && grace_->what == Grace::For::kSigkill; }

  AgentState& agent_;
  State state_ = State::kIdle;
  int number_ = 0;
  int alive_ = 0;
  RoundOutcome outcome_;
  std::optional<WorkerFailed> failed_;  // the failure that was told
  std::optional<Grace> grace_;          // for the workers to end
  std::optional<TimePoint> fence_;
  std::map<int, Progressed> progressed_;     // by rank: what the next beat is to tell
  std::map<int, Progressed> last_progress_;  // by rank: what a coordinator that forgot is told
};

}  // namespace ddprun
