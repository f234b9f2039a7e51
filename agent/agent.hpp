// The agent's shell: joins the job, owns this node's workers and their output, and performs what
// GroupMachine decides.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "agent/child_process.hpp"
#include "agent/console.hpp"
#include "agent/group_machine.hpp"
#include "agent/heartbeat_board.hpp"
#include "agent/launch_spec.hpp"
#include "agent/log_pump.hpp"
#include "agent/nursery.hpp"
#include "agent/oom.hpp"
#include "agent/wait_note.hpp"
#include "agent/worker_plan.hpp"
#include "rendezvous/tunnel/tunnel_entrance.hpp"

namespace ddprun {

/// ddprun's own streams, which workers' output goes to.
struct Consoles {
  Console& out;
  Console& err;
};

/// How this node's workers ended in the last round, beside the failure that ended it.
struct RoundOutcome {
  std::vector<WorkerFailure> failures;  // of workers that failed by themselves, in their order
  std::vector<int> stopped;             // global ranks that ended after ddprun had told them to
};

class Agent {
 public:
  Agent(const asio::any_io_executor& executor, LaunchSpec spec, NodeFacts node, Consoles consoles);

  /// From joining the job to its end; nothing of this node's workers is alive afterwards.
  asio::awaitable<AgentEnd> run();

  const RoundOutcome& outcome() const { return outcome_; }

 private:
  struct Worker {
    int local_rank;
    ChildProcess process;
    std::shared_ptr<LogPump> out;
    std::shared_ptr<LogPump> err;
    bool ended = false;
  };

  /// One that has its streams and no process yet.
  struct NewWorker {
    int local_rank;
    std::shared_ptr<LogPump> out;
    std::shared_ptr<LogPump> err;
  };

  asio::awaitable<void> ended();
  asio::awaitable<void> stay_connected();
  void join(std::shared_ptr<Channel> channel);
  asio::awaitable<void> receive_orders();
  asio::awaitable<void> beat(std::shared_ptr<Channel> channel, std::chrono::milliseconds interval);
  asio::awaitable<void> watch_signals();
  asio::awaitable<void> watch_preemption();
  asio::awaitable<void> pass_on_signals();
  asio::awaitable<void> ring_alarm();
  asio::awaitable<void> watch(std::shared_ptr<Worker> worker);
  asio::awaitable<void> sweep_tree();

  void step(const GroupEvent& event);
  void perform(const GroupAction& action);
  void start_workers(const StartRound& round);
  Result<void> open_store();
  void leave_store();
  Result<NewWorker> open_output(int local_rank);
  asio::awaitable<void> start_warm(std::vector<NewWorker> fresh, std::vector<NewChild> children);
  void take_on_all(const std::vector<NewWorker>& fresh,
                   std::vector<Result<ChildProcess>>& processes);
  asio::awaitable<void> end_nursery();
  std::vector<pid_t> no_workers() const;
  void take_on(const NewWorker& worker, ChildProcess process);
  void signal_workers(const SignalWorkers& order);
  void make_directories();
  void make_heartbeat_board();
  void cannot_start(int local_rank, const Error& error);
  void report_exit(int local_rank, std::int64_t pid, ExitStatus status,
                   std::vector<std::string> last_lines);
  void add_evidence(WorkerFailure& how) const;
  void tell_of_wait(const Waiting& waiting);
  void announce(const StartRound& round);
  void tell_of_job(const std::string& news) const;
  void order_received(const CoordinatorMessage& message);

  asio::any_io_executor executor_;
  LaunchSpec spec_;
  NodeFacts node_;
  Consoles consoles_;
  SpawnPool pool_;
  std::unique_ptr<Nursery> nursery_;  // null: workers start the ordinary way
  GroupMachine machine_;
  std::shared_ptr<Channel> coordinator_;
  std::shared_ptr<TunnelEntrance> store_;  // null: workers go to the coordinator's themselves
  StartRound round_;
  WaitNote wait_note_;
  std::vector<std::shared_ptr<Worker>> workers_;
  RoundOutcome outcome_;
  bool stopping_ = false;  // workers of this round have been told to stop
  int starts_ = 0;         // of workers, and ends: whoever waits sees that it is about others now
  OomCounters oom_before_;
  std::optional<HeartbeatBoard> heartbeats_;  // of this round's workers
  asio::signal_set signals_;
  asio::signal_set preemption_;
  asio::signal_set passed_on_;
  asio::steady_timer alarm_;
  asio::steady_timer beat_;
  asio::steady_timer wake_;  // cancelled when end_ or rejoin_ is set
  bool rejoin_ = false;
  std::optional<AgentEnd> end_;
};

}  // namespace ddprun
