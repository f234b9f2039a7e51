// WorkerSet: the workers of this node as processes, with their output, round after round. It starts
// them, sends them signals, tells how each of them ended, and cleans up what they leave behind.
//
// It decides nothing: AgentMachine says when workers start and stop. One thread, that of the event
// loop, calls it.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/decisions/agent_end.hpp"
#include "agent/introspection/introspection.hpp"
#include "agent/output/console.hpp"
#include "agent/output/log_pump.hpp"
#include "agent/output/log_writer.hpp"
#include "agent/reports/job_events.hpp"
#include "agent/spec/launch_spec.hpp"
#include "agent/timers/timer_table.hpp"
#include "agent/workers/end_evidence.hpp"
#include "agent/workers/fork_server.hpp"
#include "agent/workers/spawner.hpp"
#include "agent/workers/stopping.hpp"
#include "agent/workers/worker_plan.hpp"
#include "base/asio.hpp"
#include "base/failure.hpp"
#include "base/process/child_process.hpp"
#include "base/result.hpp"

namespace ddprun {

/// Where one stream of a worker can be read.
struct WorkerOutput {
  int round = 0;
  std::filesystem::path file;           // has all of it; "": there is none
  std::vector<std::string> last_lines;  // where there is no file
};

class WorkerSet {
 public:
  using ExitListener = std::function<void(const WorkerExited&)>;

  /// `spec` must outlive the set. `exited` is called with the end of every worker, be it a success
  /// or not, once all that the worker wrote has been read; never from within a call to the set.
  /// `oom` reads the counters of the kernel's out-of-memory killer.
  WorkerSet(
      const asio::any_io_executor& executor, const LaunchSpec& spec, NodeFacts node,
      Consoles consoles, ExitListener exited, OomReader oom = [] { return read_oom_counters(); });
  WorkerSet(const WorkerSet&) = delete;

  /// `run` is called when the workers of a round have been started, or as many of them as can be;
  /// never from within a call to the set.
  void when_started(std::function<void()> run) { started_ = std::move(run); }

  /// The workers of the round that have not ended.
  std::vector<RunningWorker> running() const;

  /// Begins to load what warm workers are forked from, where the spec wants them.
  void warm_up();

  /// The local ranks of which no worker is alive.
  std::vector<int> missing() const;

  /// Starts the workers of `round`, whose store address is known. Those that have stayed are not
  /// started: it returns what their environment is in the round, by local rank. Nothing else of an
  /// earlier round may be left. A worker that cannot be started is reported as one that exited, as
  /// a shell does it: with code 127 when its program is not there, else with 126. Those for vacant
  /// seats begin parked, and enter another round than this one. `parked`: all of them do.
  std::map<int, std::map<std::string, std::string>> start(const StartRound& round,
                                                          bool parked = false);

  /// Begins a round for which no worker can be started, because of `error`.
  void start_none(const StartRound& round, const Error& error);

  /// Sends a signal to the process groups of all workers that still run. `to_stop`: they end
  /// because of it, as tell_to_end() of stopping.hpp says, and so does what those that have
  /// ended left behind; those that are only being started do not have to begin.
  void signal(int number, bool to_stop);

  /// Kills the process groups of these, and what is left of those that have ended.
  void kill(const std::vector<int>& local_ranks);

  /// Asks the workers that still run for a checkpoint, and not their children, which do not know
  /// how to write it; see ask_for_checkpoint() of stopping.hpp. They end afterwards.
  void ask_for_checkpoint(int signal);

  /// Sends the signal of a timer that has expired, and says so, where the process is a worker that
  /// still runs, or one below it: others may write to the timers' pipe, too.
  void end_late(const ExpiredTimer& timer);

  /// Where the output of the worker of that rank is, in the round that runs or was the last;
  /// nullopt: this node has no such worker.
  std::optional<WorkerOutput> output_of(int rank, bool err) const;
  /// Lets somebody follow it; see LogPump::follow(). nullptr: it does not run.
  std::shared_ptr<OutputFeed> follow(int rank, bool err) const;

  /// The process of a worker of this round, as far as there is one.
  WatchedProcess process(int local_rank) const;

  /// Adds what the worker has reported in its heartbeats.
  void add_reported(int local_rank, WorkerLook& look) const {
    evidence_.add_reported(local_rank, look);
  }

  /// ddprun's terminal has changed its size.
  void resize_terminals();

  /// Ends and reaps all that the workers of the round left behind, and closes their output. What
  /// does not end by itself, as Python's resource tracker does when no worker is left, gets
  /// SIGTERM; then it is waited for until kill_leftovers(). `at_once`: it is killed now. What even
  /// SIGKILL does not end within kSweepTimeout is left with a warning. `in_place`: workers that
  /// have not ended stay.
  asio::awaitable<void> sweep(bool in_place = false, bool at_once = false);

  /// What the workers left behind has no more time.
  void kill_leftovers() { leftovers_.kill_all(); }

  /// Reaps what workers have left behind and has ended since, so that a long round does not fill
  /// the machine's table of processes. Workers are not reaped before sweep().
  void reap_orphans() const;

  /// Ends the fork server: no round follows. Nothing of it is alive afterwards, and log files have
  /// what workers wrote, as far as their folder answers.
  asio::awaitable<void> end();

 private:
  struct Worker {
    int local_rank;
    ChildProcess process;
    std::shared_ptr<LogPump> out;
    std::shared_ptr<LogPump> err;
    Ending ending = Ending::kNone;          // as far as it has been judged
    std::optional<TimePoint> stop_sent_at;  // while it was alive
    bool killed = false;                    // by us
    std::string timer;  // a sentence about its timer that has expired; "": none has
    bool ended() const { return ending != Ending::kNone; }
  };

  /// One that has its streams and no process yet.
  struct NewWorker {
    int local_rank;
    std::shared_ptr<LogPump> out;
    std::shared_ptr<LogPump> err;
  };

  void begin_round(const StartRound& round);
  void make_folded_output();
  Result<NewWorker> open_output(int local_rank) const;
  /// Starts processes, and gives up as soon as they are not wanted.
  using Spawning = std::function<asio::awaitable<std::vector<Result<ChildProcess>>>(
      std::function<bool()> unwanted)>;
  asio::awaitable<void> start_later(std::vector<NewWorker> fresh, Spawning spawn);
  void take_on_all(const std::vector<NewWorker>& fresh,
                   std::vector<Result<ChildProcess>>& processes);
  void announce(const NewWorker& worker, pid_t pid) const;
  void take_on(const NewWorker& worker, ChildProcess process);
  void cannot_start(int local_rank, const Error& error);
  asio::awaitable<void> watch(std::shared_ptr<Worker> worker);
  std::vector<pid_t> lasting_children() const;

  asio::any_io_executor executor_;
  const LaunchSpec& spec_;
  NodeFacts node_;
  Consoles consoles_;
  ExitListener exited_;
  std::function<void()> started_ = [] {};
  std::shared_ptr<LogWriter> files_;  // for the folder of --log-dir; null: there is none
  EndEvidence evidence_;
  Spawner spawner_;
  std::unique_ptr<ForkServer> fork_server_;  // null: workers start the ordinary way
  StartRound round_;                         // the last one
  std::vector<std::shared_ptr<Worker>> workers_;
  std::shared_ptr<FoldedOutput> folded_;  // this round's; null: nothing is folded
  bool stopping_ = false;                 // the workers of this round were asked to stop
  Leftovers leftovers_;
  int forking_ = 0;  // pending calls to the fork server: children may be workers that are not known
  int starts_ = 0;   // starts and sweeps so far: who waits in between sees that others run now
};

}  // namespace ddprun
