// Failures decides what the failures of workers do to their round: when it stops because of one,
// and whether that costs a restart. It has the ends of all workers judged, for the verdict. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/leadership/coordinator_rules.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/node_history.hpp"
#include "rendezvous/rounds/restart_budget.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/verdict/root_cause_analysis.hpp"
#include "rendezvous/watch/hang_watch.hpp"

namespace ddprun {

class Failures {
 public:
  /// `job` must live longer.
  Failures(const CoordinatorRules& rules, JobState& job)
      : rules_{rules}, job_{job}, budget_{rules.terms.restarts_max, rules.terms.restarts} {}

  /// The round has to stop, for that reason, which arose that long before.
  struct Stop {
    std::string reason;
    Clock::duration noticed_after{0};
    RankList hung = {};           // they do not come back, so no node waits for them
    bool nobody_is_lost = false;  // so that no step has to be dropped
  };

  void begin_round(int round);
  /// The node has its ranks in the round.
  void seat(Roster::Node& node);
  /// The workers have lost what was in the store, with a server. They may fail because of that, so
  /// the next failure costs nothing.
  void lose_store() { store_is_new_ = true; }

  /// A worker of a node of the running round has failed. `ask_for_missing` asks the other nodes who
  /// has not reached where that worker has waited in vain, and says whether they are asked.
  std::optional<Stop> failed(Roster::Node& node, const WorkerFailed& report, TimePoint now,
                             const std::function<bool(GaveUp)>& ask_for_missing);
  /// A worker failed in a round that does not run any more: for the verdict only.
  void failed_late(const NodeId& node, const WorkerFailed& report);
  /// How all workers of the node ended. They may have reported a step since its last heartbeat.
  void ended(const NodeId& node, const WorkersEnded& report) {
    analysis_.ended(node, report);
    job_.reached(report.step);
  }
  /// The node is gone, and was heard for the last time at `since`. `in_order`: it left on request.
  void lost(const NodeId& node, const std::string& reason, TimePoint since, bool in_order) {
    analysis_.lost(node, reason, since, in_order);
  }
  void reached(std::int64_t step) {
    analysis_.reached(step);
    job_.reached(step);
  }

  /// The workers hang: the nodes that were asked for the missing ones have answered, or it was
  /// found out.
  std::optional<Stop> hung(const HangReport& report);

  /// Whether the cause of an awaited failure is not waited for any longer.
  std::optional<Stop> give_up_cause(const Roster& nodes, TimePoint now);
  /// Whether a worker has failed that does not explain it, and the cause may come yet.
  bool awaits_cause() const { return awaited_.has_value(); }
  /// When that may be; nullopt: nothing is awaited.
  std::optional<TimePoint> next_due() const;

  /// The round stops. Its workers had hung by then, perhaps.
  void stopping(const std::optional<HangReport>& hang);
  /// All that is to come of the round has come: by now it may be known that there is no next one.
  void stopped(TimePoint now);
  const RestartBudget& budget() const { return budget_; }
  /// Why the last round failed; nullopt: it did not.
  const std::optional<Verdict>& cause() const { return cause_; }
  /// The failure of the round that has just stopped, where one node alone is to blame for it;
  /// nullopt: none is.
  std::optional<NodeFailure> node_failure(TimePoint now) const;
  /// Completes the job's end with the failure of the cause, if that is known. Returns the verdict
  /// to send to the nodes first; nullopt: the end has another reason.
  std::optional<Verdict> explain(EndJob& end) const;

 private:
  struct Awaited {  // a failure that follows from another one
    EndJob last;    // how the job ends, where no attempt is left
    Stop stop;      // when no cause comes
    bool asked;     // the nodes are asked who is missing
    TimePoint until;
  };

  Stop stop_because_of(EndJob last, Stop stop);
  void count(EndJob last);
  void await(Awaited awaited);

  const CoordinatorRules& rules_;
  JobState& job_;
  RootCauseAnalysis analysis_;    // how the workers of the round ended
  std::optional<Verdict> cause_;  // why the last round that failed did so
  std::optional<Awaited> awaited_;
  RestartBudget budget_;
  std::optional<EndJob> counted_;  // how the job ends because of the round, with no restart left
  bool store_is_new_ = false;      // the workers' keys are gone
};

}  // namespace ddprun
