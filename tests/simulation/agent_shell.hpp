// AgentShell: what Agent, CoordinatorLink and WorkerSet do around a AgentMachine, with fake
// processes and connections on fake time. Like them it decides nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/transport/connect_plan.hpp"
#include "tests/simulation/fake_fork_server.hpp"
#include "tests/simulation/fork_server_shell.hpp"
#include "tests/simulation/late_timer.hpp"
#include "tests/simulation/own_process.hpp"
#include "tests/simulation/watcher.hpp"
#include "tests/simulation/world.hpp"

namespace ddprun::simulation {

struct FakeWorker {
  int round;
  int local_rank;
  bool ignores_term;
  bool stuck;  // in the kernel: stays for a while after SIGKILL
  TimePoint ends;
  ExitStatus how;
  bool told = false;  // to end
  bool reported = false;
  bool stays = false;  // it can stay while members of the job change
  bool parked = false;
  std::int64_t held_at = -1;  // the steps that it had counted when it was asked to hold
  int world_size = 0;         // the number of workers in its last round; 0: it had none
  bool runs = false;          // its program; else the fork server has not let it go
  bool watched = false;       // the agent knows that it is there
};

/// It has left its round, or is of none yet.
inline bool is_spared(const FakeWorker& worker) {
  return worker.parked || worker.round == kNoRound;
}

class AgentShell : public Births {
 public:
  /// The agent number `number` of this run, which starts on `host`. Of several with that number one
  /// after the other, `serial` tells which one it is. `process`: null where nothing else is in it.
  AgentShell(World& world, Watcher& watcher, int number, int host, int serial = 0,
             OwnProcess* process = nullptr);
  AgentShell(const AgentShell&) = delete;

  void start();
  void receive(LinkId link, const Parcel& parcel);

  // What may happen to it.
  void kill();       // its workers die with it
  void power_off();  // and sends nothing
  void freeze();
  void thaw();
  void stop_signal(int signal);
  void announce_end(int signal);
  void worker_exits(ExitStatus how);  // the first that still runs
  void worker_waits();                // that one, in a collective, in vain
  void debug_worker(bool begins);     // that one; else none is debugged any more

  const NodeId& id() const { return id_; }
  int host() const { return host_; }
  int workers() const { return rules_.workers; }
  LinkId link() const { return link_; }
  bool gone() const { return dead_ || end_.has_value(); }
  bool frozen() const { return frozen_; }
  bool told_to_stop() const { return told_to_stop_; }
  bool end_announced() const { return end_announced_; }
  int round() const { return round_.round; }
  const StartRound& started() const { return round_; }
  bool listens() const { return listens_; }  // so that it can be knocked at
  bool coming_back() const { return wish_.voter.running > 0; }
  const std::optional<AgentEnd>& end() const { return end_; }
  int attempt() const { return round_.attempt; }
  int coordinator() const { return coordinator_; }  // which one has begun that round
  /// The greatest numbers that it got. Kept apart from what its machine remembers.
  const JobCounters& told() const { return told_; }
  int finished_in_round() const { return finished_; }  // workers that exited with 0
  // These are about processes, whatever the agent knows of them.
  int round_alive() const;  // the round whose workers are alive, and not parked; 0: none are
  bool has_processes() const { return !alive_.empty(); }
  /// A sentence, where one process is of a round beside another round, or has another's place.
  std::optional<std::string> beside() const;
  TimePoint last_heard() const { return last_heard_; }  // the coordinator
  TimePoint awake_since() const { return awake_since_; }
  bool connected() const { return receiving_; }
  bool ever_joined() const { return ever_joined_; }  // and was answered
  /// When it began to try to connect, if it still does.
  std::optional<TimePoint> connecting_since() const { return connecting_since_; }
  /// Since when every attempt of that was refused.
  std::optional<TimePoint> refused_since() const { return refused_since_; }
  /// When the last attempt of that ended otherwise, or when it began.
  TimePoint last_not_refused() const { return last_not_refused_; }
  bool was_stuck() const { return was_stuck_; }  // workers that even SIGKILL did not end

 private:
  void connect(const ReachCoordinator& wish);
  void seek();
  void sought(const std::optional<Campaign::Found>& found);
  void try_connect();
  void attempt_failed(FailedAttempt::Why why);
  void give_up_connecting(bool refused);
  void join();
  void answer_is_due(LinkId link);
  void reached();
  void note(const CoordinatorMessage& message);
  void hung_up();
  void disconnect();
  void step(const AgentEvent& event);
  void perform(const AgentAction& action);
  void look_at_node(const CheckSelf& order);
  void ring();
  void arm();

  // What a fork server does, and how others are started.
  pid_t fork(int round, int local_rank) override;
  void let_go(pid_t pid) override;
  void close_gate(const std::vector<pid_t>& pids) override;
  void kill(pid_t pid) override;
  void when_awake(Timeline::Task task) override;
  void start_all(const std::vector<ForkServerShell::Child>& fresh);
  void take_on(const ForkServerShell::Child& child, pid_t pid);
  void end_fork_server();

  std::map<int, FakeWorker>::iterator watched(int local_rank);
  std::optional<int> rank_that_runs() const;
  void give_time(bool extended);
  void start_workers(const StartRound& round);
  void start_parked();
  void resize(FakeWorker& worker, const StartRound& round);
  void greet(int serial);
  void live_beside(int serial);
  void begin_to_work(int serial);
  void ask_to_hold(int round);
  void ask_to_leave_after(const LeaveAfter& order);
  void ask_to_leave(int round);
  void leave_soon(int serial, int round);
  void kill_workers(const std::vector<int>& local_ranks);
  void says(int local_rank, const WorkerWord& what);
  void signal_workers(int signal);
  void ask_for_checkpoint();
  void end_at(int serial, TimePoint when, ExitStatus how);
  void end_worker(int serial);
  void note_end(FakeWorker worker);
  void report_exit(FakeWorker& worker);
  bool is_swept(bool keep) const;
  void begin_sweep(bool keep);
  void sweep(int number);

  World& world_;
  Watcher& watcher_;
  OwnProcess* process_;
  int number_;
  int host_;
  AgentRules rules_;
  AgentMachine machine_;
  NodeId id_;
  int joins_ = 0;
  bool ever_joined_ = false;
  ReachCoordinator wish_;
  int place_ = 0;  // the number of the coordinator that is reached for
  JobCounters told_;
  bool listens_ = true;
  LinkId link_ = -1;
  std::optional<ConnectPlan> connecting_;
  std::optional<TimePoint> seeking_until_;  // that etcd names somebody who answers
  std::int64_t lost_ = 0;                   // the epoch of whom etcd has named in vain
  std::string found_;                       // where it has named one; "": it was not asked
  std::optional<TimePoint> connecting_since_;
  std::optional<TimePoint> refused_since_;
  TimePoint last_not_refused_;
  bool receiving_ = false;  // there is a connection
  StartRound round_{.round = 0};
  int coordinator_ = 0;
  int connected_to_ = 0;  // the last coordinator that it has reached, by number
  int finished_ = 0;
  std::map<int, FakeWorker> alive_;  // all processes of workers, by serial number
  std::map<int, FakeWorker> ended_;  // those that had ended before the agent knew of them
  int spawned_ = 0;
  std::unique_ptr<ForkServerShell> fork_server_;  // null: workers start the ordinary way
  int starts_ = 0;                                // starts and sweeps so far, as those of WorkerSet
  bool stopping_ = false;                         // the workers of this round were asked to stop
  TimePoint last_heard_;
  std::optional<TimePoint> asked_;
  LateTimer timer_{world_};
  bool frozen_ = false;
  TimePoint awake_since_;
  std::vector<Timeline::Task> held_;  // events of the time when it was frozen
  bool told_to_stop_ = false;
  bool end_announced_ = false;
  TimePoint leftovers_end_{};  // When what workers have left behind is gone.
  TimePoint sweep_gives_up_{};
  bool sweep_keeps_ = false;  // It belongs to the current sweep.
  int sweeps_ = 0;            // those that have begun or ended
  bool sweeping_ = false;
  bool was_stuck_ = false;
  bool has_time_ = false;  // the workers of this round, as somebody debugs the job
  bool dead_ = false;
  std::optional<AgentEnd> end_;
};

}  // namespace ddprun::simulation
