// Agent: one node's part in the job, from joining it to its end. It performs what AgentMachine
// decides on the workers of this node and on the connection to the coordinator, and hands the
// machine what happens to both, the signals that reach ddprun, and the time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/checkpoints/checkpoint_keeper.hpp"
#include "agent/control/job_queries.hpp"
#include "agent/control/trainer_endpoint.hpp"
#include "agent/control/worker_socket.hpp"
#include "agent/coordinator_link.hpp"
#include "agent/decisions/agent_machine.hpp"
#include "agent/introspection/introspection.hpp"
#include "agent/job_signals.hpp"
#include "agent/local_coordinator.hpp"
#include "agent/reports/event_log.hpp"
#include "agent/reports/job_news.hpp"
#include "agent/reports/job_record.hpp"
#include "agent/spec/launch_spec.hpp"
#include "agent/timers/timer_pipe.hpp"
#include "agent/workers/worker_plan.hpp"
#include "agent/workers/worker_set.hpp"
#include "base/asio.hpp"
#include "base/machine/load_meter.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Looks at this node, and waits `patience` at most for what dead workers have left. Returns what
/// Fitness::unfit says. Errors: with a sentence, where the node cannot be looked at.
using CheckNode = std::function<asio::awaitable<Result<std::string>>(
    std::chrono::milliseconds patience, bool workers_live)>;

/// What an agent works with. What is referred to must outlive the agent; those that can be open
/// need not be.
struct AgentServices {
  Consoles consoles;
  LocalCoordinator& coordinator;
  EventLog& events;            // notes what happens
  TrainerEndpoint& trainings;  // says how far trainings are
  WorkerSocket& staying;       // lets workers stay while members of the job change, if they can
  TimerPipe& timers;           // lets workers set timers for themselves
  CheckNode check = {};        // looks at this node before each round, if the spec wants that
  CheckpointKeeper* checkpoints = nullptr;  // has begun; nullptr: the program keeps its own
  std::optional<WatchFolder> folder = {};   // as NodeFacts names it
};

class Agent {
 public:
  /// Listens for signals from now on, and for workers where services are open. It does nothing else
  /// before run().
  Agent(const asio::any_io_executor& executor, LaunchSpec spec, NodeFacts node,
        AgentServices services);
  Agent(const Agent&) = delete;

  /// From joining the job to its end; nothing of this node's workers is alive afterwards.
  asio::awaitable<AgentEnd> run();

  /// How the workers of the last round ended, beside the failure that ended the job.
  const RoundOutcome& outcome() const { return machine_.outcome(); }

  /// Whether this node tells the user what concerns the whole job.
  bool tells_job() const { return news_.tells_job(); }

  /// What the coordinator has sent, for the report of the job.
  JobRecord& record() { return record_; }
  /// Asks the coordinator how the job is; see JobQueries.
  asio::awaitable<Result<JobStatus>> status(std::chrono::milliseconds timeout) {
    return queries_.status(timeout);
  }
  /// Asks the coordinator what all workers of the job do; see JobQueries.
  asio::awaitable<Result<JobDump>> dump(std::chrono::milliseconds timeout) {
    return queries_.dump(timeout);
  }
  /// As those of Introspection.
  Result<Introspection::Debugged> begin_debugging(int rank, const OpenDebugger& order) {
    return introspection_.begin_debugging(rank, order);
  }
  void interrupt_debugged(int rank) { introspection_.interrupt_debugged(rank); }
  void end_debugging(int rank) { introspection_.end_debugging(rank); }
  /// Stops this node's part in the job as if ddprun had got that signal.
  void stop(int signal);
  /// As those of WorkerSet.
  std::optional<WorkerOutput> output_of(int rank, bool err) const {
    return workers_.output_of(rank, err);
  }
  std::shared_ptr<OutputFeed> follow(int rank, bool err) const {
    return workers_.follow(rank, err);
  }

 private:
  void hear_signal(int signal);
  void give_up_writing(int signal);
  asio::awaitable<void> sweep(SweepTree order);
  void hear(const CoordinatorMessage& message);
  void note_leading();
  asio::awaitable<void> inspect(Inspect question);
  asio::awaitable<void> check_node(CheckSelf order);
  void step(const AgentEvent& event);
  void perform(const AgentAction& action);
  void watch(const StartRound& round);
  asio::awaitable<void> put_back_and_start(StartWorkers order);
  void give_up_start();
  void start_workers(const StartWorkers& order, const Result<void>& may_start = {});
  void tell(AgentMessage message);
  void tell_held();
  void tell_user(const CoordinatorMessage& message);

  asio::any_io_executor executor_;
  const LaunchSpec spec_;
  const RunFacts run_;
  AgentServices services_;
  AgentMachine machine_;
  JobNews news_;
  CoordinatorLink link_;
  JobRecord record_;
  JobQueries queries_;
  WorkerSet workers_;
  Introspection introspection_;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
  LoadWatch load_{LoadMeter{"/"}};
  asio::cancellation_signal check_ends_;
  SignalWatch signals_;
  asio::steady_timer alarm_;  // also cancelled when end_ is set
  std::optional<AgentEnd> end_;
  std::optional<StartRound> awaits_start_;  // until its checkpoint is put back
  bool is_started_ = false;                 // workers have been, once
  bool leads_;                              // the coordinator is in this process
};

}  // namespace ddprun
