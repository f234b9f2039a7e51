// Observers: what watches a job's rounds and never decides about them: how far workers are and
// whether they hang, in which of them a debugger is open, what they do when somebody asks, what
// restarts cost, and what is shown of the past. Pure. Rounds and CoordinatorMachine tell them what
// happens.
#pragma once

#include <map>
#include <string>

#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/debugged_ranks.hpp"
#include "rendezvous/rounds/job_history.hpp"
#include "rendezvous/watch/restart_clock.hpp"
#include "rendezvous/watch/round_dump.hpp"
#include "rendezvous/watch/round_watch.hpp"
#include "rendezvous/watch/straggler_watch.hpp"

namespace ddprun {

class Observers {
 public:
  /// A job that begins at `now`.
  Observers(const CoordinatorRules& rules, TimePoint now)
      : watch_{rules.terms.hang_timeout, rules.terms.on_hang}, times_{now}, job_history_{now} {}

  const RoundWatch& watch() const { return watch_; }
  RoundWatch& watch() { return watch_; }
  const JobHistory& job_history() const { return job_history_; }
  const std::map<NodeId, NodeNews>& node_news() const { return node_news_; }

  // --- nodes ---

  void came(const Roster::Node& node);
  /// A node tells of its machine, and of what it keeps.
  void heard(const NodeId& node, const Beat& beat);
  /// The node is gone. Reports of the job show it as missing, unless the job is over.
  void lost(const Roster::Node& node, const std::string& reason, bool shown, bool round_runs,
            TimePoint now);
  /// Workers of the round went on, or had before it was asked to stop.
  void progressed(const Roster::Node& node, const Progress& report, const Roster& nodes,
                  TimePoint now);
  /// A worker of the node has entered collectives. Nodes learn which ranks hold up the
  /// others.
  void arrived(const Roster::Node& node, const Arrivals& told, const Roster& nodes, Outbox& out,
               TimePoint now);
  void inspected(const NodeId& node, const Inspected& answer);
  /// Workers of the node are debugged, or are no more: see look().
  void debugging(const Roster::Node& node, const Debugging& report);

  // --- rounds ---

  /// A round begins on these nodes. All of them tell when their workers run.
  void sealed(const RoundStatus& round, const Roster& nodes, TimePoint now);
  /// A round goes on whose nodes come back one after the other.
  void recovered(const RoundStatus& round, TimePoint now);
  void came_back(const NodeId& node);
  /// The round gets the order to stop. Its reason arose that long before.
  void stopping(const StopRound& order, Clock::duration noticed_after, TimePoint now);
  /// Workers that have left it are not to enter the next one.
  void nobody_stays() { times_.nobody_stays(); }
  /// Nothing of the round is alive.
  void stopped(TimePoint now) { times_.stopped(now); }
  /// A node has started its workers.
  void started(TimePoint now) { times_.started(now); }
  /// This process coordinates the job no more.
  void forget_round();
  /// The job ends: nodes learn where the time went.
  void ended(const Roster& nodes, Outbox& out, TimePoint now);
  /// The node leaves in order: it learns where the time has gone so far.
  void goes(const Roster::Node& node, Outbox& out, TimePoint now) const;

  /// Looks whether the workers of the round hang, unless somebody debugs some, and tells its nodes
  /// what is new of both. Returns a hang that it has found.
  std::optional<HangReport> look(int round, const Roster& nodes, Outbox& out, TimePoint now);
  /// Adds what is known of the workers.
  void tell(JobStatus& status, const Roster& nodes, TimePoint now) const;

  // --- questions ---

  void ask_dump(const Roster::Node& node, const AskDump& question, const RoundView& round,
                const Roster& nodes, Outbox& out, TimePoint now);
  /// Whether an answer to ask_dump() can be made now; at once where no round runs.
  bool owes_dump(bool round_runs, TimePoint now) const;
  /// Answers all pending requests. `state` is what is known without the workers.
  void answer_dump(JobDump state, const Roster& nodes, Outbox& out, TimePoint now);

  /// Tells nodes of restarts that are over.
  void tell_restarts(const Roster& nodes, Outbox& out, TimePoint now);
  /// When something of this is due.
  std::optional<TimePoint> next_due(bool round_runs) const;

 private:
  void draw_curves(const Roster& nodes, TimePoint now);

  RoundWatch watch_;
  StragglerWatch stragglers_;
  DebuggedRanks debugged_;
  RoundDump dump_;
  RestartClock times_;
  JobHistory job_history_;
  std::map<NodeId, NodeNews> node_news_;  // nodes that are there
};

/// Milliseconds that a peer reported, which may be any number.
Clock::duration within_reason(double ms);

}  // namespace ddprun
