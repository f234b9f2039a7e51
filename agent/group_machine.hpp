// GroupMachine decides what this node's agent does: starts, stops and kills its workers as the
// coordinator orders, reports how they end, and ends the agent.
//
// It is passive, like RoundMachine: events and their time in, actions out. It knows workers by
// number only; processes, pipes and the connection belong to the Agent.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/rounds/round_machine.hpp"

namespace ddprun {

/// Why the agent ends.
struct AgentEnd {
  enum class Why { kJobEnded, kStopSignal, kRefused, kCoordinatorLost };
  Why why = Why::kJobEnded;
  EndJob job;           // kJobEnded
  int signal = 0;       // kStopSignal: the first one that came
  std::string message;  // kRefused, kCoordinatorLost
};

struct GroupRules {
  int workers = 1;
  std::chrono::milliseconds shutdown_timeout{30'000};  // from the first signal to SIGKILL
  std::chrono::milliseconds heartbeat_timeout{
      5'000};           // silence after which the coordinator is lost
  bool rejoin = false;  // it may come back: join again, rather than end
  std::chrono::milliseconds preempt_timeout{60'000};  // for a checkpoint, when the end is announced
  int checkpoint_signal = SIGUSR1;                    // asks a worker for one
};

/// A second stop signal this soon after the first is the same request: Slurm sends SIGTERM twice.
inline constexpr std::chrono::milliseconds kOneRequest{300};
/// What a second stop signal leaves of the grace.
inline constexpr std::chrono::milliseconds kShortGrace{3'000};
/// What a checkpoint may take after SIGTERM, which schedulers send before they kill: in Slurm
/// KillWait later, usually 30 s (https://slurm.schedmd.com/slurm.conf.html).
inline constexpr std::chrono::milliseconds kCheckpointAfterSigterm{20'000};
/// More announcements of the end in this time are the same one: Slurm's steps and its batch script
/// each get theirs.
inline constexpr std::chrono::milliseconds kOneAnnouncement{5'000};
/// How long a process may take to vanish after SIGKILL before it is given up with a warning.
inline constexpr std::chrono::milliseconds kKillTimeout{10'000};

// clang-format off
struct Ordered { CoordinatorMessage message; };
struct WorkerExited { WorkerFailure how; };  // status may be a success; its output has been read
struct TreeGone {};                          // the answer to SweepTree
struct Connected {};                         // a connection to the coordinator is there
struct CoordinatorLost { std::string reason; };         // that connection has ended
struct CoordinatorUnreachable { std::string reason; };  // and there will be no other
struct StopSignal { int signal; };
struct EndAnnounced { int signal; };         // by the scheduler: time for a checkpoint
struct PassOn { int signal; };               // meant for the workers, not for ddprun
struct Alarm {};                             // next_alarm() has come
using GroupEvent = std::variant<Ordered, WorkerExited, TreeGone, Connected, CoordinatorLost,
                                CoordinatorUnreachable, StopSignal, EndAnnounced, PassOn,
                                Alarm>;

struct StartWorkers { StartRound round; };
struct SignalWorkers { int signal; bool to_stop = true; };  // the groups of those that still run
struct AskForCheckpoint { int signal; };                    // those themselves, not their children
struct SweepTree {};                    // kill and reap all that workers left behind, then TreeGone
struct Tell { AgentMessage message; };  // the coordinator
struct Disconnect {};                   // it is silent: end the connection
struct Rejoin {};                       // connect and join anew, as a fresh node
struct Warn { std::string text; };
struct Exit { AgentEnd end; };
using GroupAction = std::variant<StartWorkers, SignalWorkers, AskForCheckpoint, SweepTree, Tell, Disconnect, Rejoin,
                                 Warn, Exit>;
// clang-format on

class GroupMachine {
 public:
  explicit GroupMachine(GroupRules rules) : rules_{rules} {}

  std::vector<GroupAction> step(const GroupEvent& event, TimePoint now);

  /// When an Alarm is due; nullopt: nothing to wait for.
  std::optional<TimePoint> next_alarm() const;

 private:
  enum class State { kIdle, kRunning, kStopping, kSweeping, kExited };

  void obey(const CoordinatorMessage& order, TimePoint now);
  void start(const StartRound& order);
  void exited(const WorkerFailure& how);
  void request_stop(int signal, TimePoint now);
  void announce_end(int signal, TimePoint now);
  void tell_of_end(TimePoint now);
  void stop_after_checkpoint(std::chrono::milliseconds time, TimePoint now);
  void stop(int signal, TimePoint now);
  void sweep();
  void after_sweep();
  void lose_coordinator(const std::string& reason, TimePoint now);
  void tell(AgentMessage message);
  void alarm(TimePoint now);
  void end_grace(TimePoint now);
  std::optional<TimePoint> silence_ends() const;
  void exit_with(AgentEnd end, int signal, TimePoint now);

  GroupRules rules_;
  State state_ = State::kIdle;
  int round_ = 0;
  int alive_ = 0;
  bool failure_told_ = false;
  std::optional<AgentEnd> end_;  // set: exit once nothing of the round is alive
  bool connected_ = false;
  bool rejoining_ = false;          // once nothing of the round is alive
  TimePoint last_heard_;            // the coordinator
  std::optional<TimePoint> alarm_;  // the end of the workers' grace
  bool killed_ = false;             // SIGKILL is out, the alarm means giving up
  bool asked_ = false;              // for a checkpoint, the alarm means stopping
  struct Announcement {
    TimePoint came;
    TimePoint ends;  // the time for a checkpoint
    std::string reason;
  };
  std::optional<Announcement> announced_;  // the first one of the scheduler's
  int stop_requests_ = 0;
  TimePoint last_request_;
  std::vector<GroupAction> actions_;
};

}  // namespace ddprun
