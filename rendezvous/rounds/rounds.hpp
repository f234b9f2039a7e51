// Rounds decides when nodes are waited for, when a round of them is sealed, and when it stops.
// Pure. docs/internals/rounds.md has the rules.
//
// It gathers nodes until enough are there, and seals them into a round that runs. On stop() it
// waits for the workers' end and gathers again. Leadership decides whether a sealed round may
// begin, and the callers of stop() what stops one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/failures.hpp"
#include "rendezvous/rounds/in_place.hpp"
#include "rendezvous/rounds/job_checkpoints.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/node_history.hpp"
#include "rendezvous/rounds/observers.hpp"

namespace ddprun {

/// What a node may take to stop its workers, beyond the time that it has announced: its own time
/// until it gives them up, and a heartbeat timeout, because a link may delay messages that long
/// before the node counts as lost.
constexpr std::chrono::milliseconds stopping_reserve(std::chrono::milliseconds heartbeat_timeout) {
  return kKillTimeout + kSweepTimeout + heartbeat_timeout;
}

class Rounds {
 public:
  enum class State { kIdle, kGathering, kRunning, kStopping };

  /// What else of the coordinator it works with. All of it must live longer.
  struct Context {
    const CoordinatorRules& rules;
    JobState& job;
    Roster& nodes;
    Leadership& leadership;
    Failures& failures;
    NodeHistory& history;
    Observers& observers;
    InPlace& in_place;
    JobCheckpoints& checkpoints;
    Outbox& out;
  };
  explicit Rounds(Context context) : context_{context} {}

  State state() const { return state_; }
  bool runs() const { return state_ == State::kRunning; }
  /// The node of the round of that number runs its workers there.
  bool runs(int round) const { return runs() && round == context_.job.counters.round; }

  /// Somebody else coordinates the job.
  void stand_by();
  /// The job is over.
  void end() { state_ = State::kIdle; }
  /// Nodes are waited for from now on.
  void gather(TimePoint now);
  /// A round goes on whose nodes come back to a server that was started again.
  void recover(const HostedAssignment& round, int attempt, TimePoint now);

  /// The round stops. With a time for a checkpoint, workers are asked for one first.
  void stop(const Failures::Stop& why, TimePoint now, std::int64_t checkpoint_ms = 0);
  /// Too few voters follow, so nothing of the round may go on.
  void stop_at_once(TimePoint now);
  /// What a node hears that comes back while its round stops.
  StopRound stop_order(const std::string& reason) const;

  void workers_finished(Roster::Node& node, const WorkersFinished& report);
  void workers_stopped(Roster::Node& node, const WorkersStopped& report);

  /// Whether the node is in the round; while nodes gather, whether it would be in it.
  bool is_member(const Roster::Node& node) const;
  RoundView view() const;
  /// The answer to this node, which waits for a place in the round that runs.
  Spare spare(const Roster::Node& node) const;

  /// Goes on when its time has come. Returns how the job ends, when it does now.
  std::optional<EndJob> advance(TimePoint now);
  /// The round that is wanted now; nullopt: too few nodes are ready.
  std::optional<RoundWanted> wanted(TimePoint now);
  /// Begins it. Returns how the job ends, when there is to be no next round.
  std::optional<EndJob> seal(TimePoint now);
  /// Whether nodes were waited for in vain.
  bool has_waited_in_vain(TimePoint now) const;
  EndJob timed_out(const std::string& last_loss) const;
  /// Nodes that beat, and have not stopped their workers in time.
  std::vector<NodeId> unstopped(TimePoint now) const;

  /// What a node hears that waits.
  Waiting waiting(TimePoint now) const;
  /// The coordinator itself was stopped for that long, so nodes have more time.
  void postpone(Clock::duration slept) { stopping_ends_ += slept; }
  /// When something is due; nullopt: nothing is.
  std::optional<TimePoint> next_due(TimePoint now) const;

 private:
  TimePoint gathering_ends() const;
  TimePoint gives_up_at() const;
  void discard_parked(TimePoint now);
  std::optional<EndJob> learn_from(const std::vector<Roster::Node*>& members);
  void start(const std::vector<Roster::Node*>& ranked, TimePoint now);

  Context context_;
  State state_ = State::kIdle;
  TimePoint gathering_since_;
  std::optional<TimePoint> last_call_ends_;  // set while MIN nodes are ready for the first round
  TimePoint had_enough_;                     // the last time, while their checkpoint was written
  int nodes_begun_ = 0;                      // that the last round had at its beginning
  TimePoint stopping_ends_;                  // nodes that have not stopped by then are dropped
  /// How the round was asked to stop.
  enum class Manner { kInOrder, kInPlace, kAtOnce, kDiscarding } manner_ = Manner::kInOrder;
};

}  // namespace ddprun
