// AgentMachine decides what this node's agent does: it reaches for the coordinator and shows that
// it is alive, starts, stops and kills its workers as the coordinator orders, reports how they end,
// and ends the agent.
//
// It only wires. CoordinatorSearch decides where the agent goes to find the coordinator,
// WorkerRound what happens to the workers, Follower what the node promises and knows as a voter,
// SelfCheck when the node looks at itself, Debuggers what it reports of ranks that are debugged.
//
// It is passive, like CoordinatorMachine: events and their time in, actions out. It knows workers
// by number only; processes and pipes belong to WorkerSet, the connection belongs to
// CoordinatorLink.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/decisions/agent_events.hpp"
#include "agent/decisions/agent_state.hpp"
#include "agent/decisions/coordinator_search.hpp"
#include "agent/decisions/debuggers.hpp"
#include "agent/decisions/self_check.hpp"
#include "agent/decisions/worker_progress.hpp"
#include "agent/decisions/worker_round.hpp"
#include "base/clock.hpp"

namespace ddprun {

class AgentMachine {
 public:
  explicit AgentMachine(AgentRules rules) : agent_{.rules = std::move(rules)} {}
  AgentMachine(const AgentMachine&) = delete;

  /// What is to be done now that `event` has happened, in this order. After Exit: nothing, ever.
  std::vector<AgentAction> step(const AgentEvent& event, TimePoint now);

  /// When an Alarm is due; nullopt: nothing to wait for.
  std::optional<TimePoint> next_alarm() const;

  /// How the workers of the last round that was started have ended so far.
  const RoundOutcome& outcome() const { return workers_.outcome(); }

 private:
  void obey(const CoordinatorMessage& order, TimePoint now);
  void note(const CoordinatorMessage& order);
  void joined(const Joined& answer, TimePoint now);
  void answered(std::int64_t clock_us, std::int64_t echo_us, std::int64_t lease_ms, TimePoint now);
  void start(const StartRound& order, TimePoint now);
  void stop_round(const StopRound& order, TimePoint now);
  void refused(const Refused& answer, TimePoint now);
  void lose(Loss loss, const std::string& reason, TimePoint now);

  // The user's signals, and the scheduler's.
  void request_stop(int signal, TimePoint now);
  void announce_end(int signal, TimePoint now);
  void tell_of_end(TimePoint now);

  // The end of a round, and of the agent.
  void swept(TimePoint now);
  void checked(const Checked& found, TimePoint now);
  void hold_end(const EndJob& end, TimePoint now);
  void exit_as_told(TimePoint now);
  void finish(const CoordinatorSearch::End& end, TimePoint now);
  void exit_with(AgentEnd end, int signal, TimePoint now);
  void exit(TimePoint now);

  void alarm(TimePoint now);
  std::optional<TimePoint> silence_ends() const;
  void check_silence(TimePoint now);
  void tell_inspected(const WorkersInspected& answer);
  void tell_standby();

  AgentState agent_;
  WorkerRound workers_{agent_};
  WorkerProgress progress_{agent_};
  Debuggers debuggers_{agent_, workers_};
  CoordinatorSearch search_{agent_, workers_};
  SelfCheck self_check_{agent_};
  bool exited_ = false;
  bool round_follows_ = true;  // for which this node has to be looked at
  Leader standby_;             // leader last reported to the standby server

  struct Announcement {
    TimePoint came;
    TimePoint ends;  // the time for a checkpoint
    std::string reason;
  };
  std::optional<TimePoint> farewell_ends_;  // the wait for the answer to Leave

  std::optional<Announcement> announced_;  // the first one of the scheduler's

  struct StopRequests {
    int count = 0;
    TimePoint last;
  };
  StopRequests stop_requests_;
};

}  // namespace ddprun
