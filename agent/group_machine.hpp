// AgentMachine decides what this node's agent does: it reaches for the coordinator and shows that
// it is alive, starts, stops and kills its workers as the coordinator orders, reports how they end,
// and ends the agent.
//
// It is passive, like CoordinatorMachine: events and their time in, actions out. It knows workers
// by number only; processes and pipes belong to WorkerSet, the connection belongs to
// CoordinatorLink.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/clock_offset.hpp"
#include "base/clock.hpp"
#include "base/failure.hpp"
#include "rendezvous/rounds/connect_plan.hpp"
#include "rendezvous/verdict/judge_end.hpp"
#include "rendezvous/wire/leader.hpp"
#include "rendezvous/wire/messages.hpp"

namespace ddprun {

/// Why the agent ends.
struct AgentEnd {
  enum class Why { kJobEnded, kStopSignal, kRefused, kCoordinatorLost, kNoCoordinator };
  Why why = Why::kJobEnded;
  EndJob job;           // kJobEnded
  int signal = 0;       // kStopSignal: the first one that came
  std::string message;  // kRefused, kCoordinatorLost, kNoCoordinator: it has never been there
};

/// How this node's workers ended in the last round.
struct RoundOutcome {
  std::vector<WorkerFailure> failures;  // of workers that failed by themselves, in their order
  std::vector<int> stopped;             // global ranks that ended after they had been told to
  std::vector<WorkerEnd> ends;          // of all, by this machine's clock
  std::int64_t step = -1;               // the greatest one that a worker has told; -1: none
};

struct AgentRules {
  int workers = 1;
  std::chrono::milliseconds join_timeout{600'000};     // for the coordinator to be reached
  std::chrono::milliseconds shutdown_timeout{30'000};  // from the first signal to SIGKILL
  std::chrono::milliseconds heartbeat_timeout{5'000};  // silence after which it is lost; what the
                                                       // coordinator says of it wins
  bool rejoin = false;  // a lost coordinator may come back: join again, rather than end
  std::chrono::milliseconds preempt_timeout{60'000};  // for a checkpoint, when the end is announced
  int checkpoint_signal = SIGUSR1;                    // asks a worker for one
  std::string endpoint;        // where this node reaches the job's coordinator, as HOST:PORT
  std::string lost_hint = {};  // what would help when the coordinator is lost for good
  /// Where it may be, too, in the order in which they are tried; that one first. Empty: there only.
  std::vector<std::string> places = {};
  /// Somebody else than the nodes knows where the coordinator is; see ReachCoordinator's `at`.
  bool has_referee = false;
  /// The coordinator is in this process, and the job has no other node: its silence means nothing.
  bool in_one_process = false;
};

/// So many times in each heartbeat timeout the agent shows that it is alive: a few of them may come
/// late or be held up, and nobody is lost.
inline constexpr int kBeatsPerTimeout = 5;
/// Who listens at the coordinator's endpoint has at least so long to answer to a join.
inline constexpr std::chrono::milliseconds kAnswerTimeoutMin{3'000};
/// Who may become the coordinator has at least so long to find the votes for it.
inline constexpr std::chrono::milliseconds kVotingMin{1'000};
/// A newcomer waits so long at one who coordinates nothing: it may be about to begin the job.
inline constexpr std::chrono::milliseconds kVotingOfNewcomer{200};
/// An attempt to find a coordinator at one place takes at most so long.
inline constexpr std::chrono::milliseconds kPlaceTimeout{1'000};
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
struct AgentBegins {};                       // once, before all others
struct Ordered { CoordinatorMessage message; };
// Its status may be a success; its output has been read. `step` is that of its last heartbeat.
struct WorkerExited { WorkerFailure how; WorkerEnd end = {}; std::int64_t step = -1; };
struct TreeGone {};                          // the answer to SweepTree
struct WorkersRun {};                        // the answer to StartWorkers, if some could be started
// The answer to ReachCoordinator: it has answered what was asked at that time,
struct Connected { std::optional<TimePoint> asked = {}; std::string place = {}; };  // "": as was wished
// or the patience has ended; `refused`: nobody listens there, the process that did is gone
struct CoordinatorUnreachable { std::string reason; bool refused = false; };
struct CoordinatorLost { std::string reason; };         // the connection has ended by itself
struct StopSignal { int signal; };
struct EndAnnounced { int signal; };         // by the scheduler: time for a checkpoint
struct PassOn { int signal; };               // meant for the workers, not for ddprun
struct WorkerProgressed { RankProgress progress; };
struct WorkersInspected { int inspection; std::vector<StackGroup> groups; };  // see InspectWorkers
struct Alarm {};                             // next_alarm() has come
using AgentEvent = std::variant<AgentBegins, Ordered, WorkerExited, TreeGone, WorkersRun, Connected,
                                CoordinatorUnreachable, CoordinatorLost, StopSignal, EndAnnounced,
                                PassOn, WorkerProgressed, WorkersInspected, Alarm>;

// Connect after the pause, and join with this. `at` is HOST:PORT; "": where the job's coordinator is,
// as the referee knows where there is one.
struct ReachCoordinator {
  Patience patience;
  JobCounters counters;
  std::chrono::milliseconds pause{};
  VoterState voter = {};
  std::string at = {};
};
struct StartWorkers { StartRound round; };
struct SignalWorkers { int signal; bool to_stop = true; };  // the groups of those that still run
struct AskForCheckpoint { int signal; };                    // those themselves, not their children
struct SweepTree {};                    // kill and reap all that workers left behind, then TreeGone
struct InspectWorkers { Inspect question; };  // then WorkersInspected
struct Tell { AgentMessage message; };  // the coordinator
struct Disconnect {};                   // it is silent: end the connection
struct TellStandby { Leader leader; };  // what may coordinate the job in this process
struct Warn { std::string text; };
struct Exit { AgentEnd end; };
using AgentAction = std::variant<ReachCoordinator, StartWorkers, SignalWorkers, AskForCheckpoint,
                                 SweepTree, InspectWorkers, Tell, Disconnect, TellStandby, Warn,
                                 Exit>;
// clang-format on

class AgentMachine {
 public:
  explicit AgentMachine(AgentRules rules) : rules_{std::move(rules)} {}

  /// What is to be done now that `event` has happened, in this order. After Exit: nothing, ever.
  std::vector<AgentAction> step(const AgentEvent& event, TimePoint now);

  /// When an Alarm is due; nullopt: nothing to wait for.
  std::optional<TimePoint> next_alarm() const;

  /// Of the last round that was started, so far.
  const RoundOutcome& outcome() const { return outcome_; }

 private:
  enum class State { kIdle, kRunning, kStopping, kSweeping, kExited };

  void obey(const CoordinatorMessage& order, TimePoint now);
  void note(const CoordinatorMessage& order);
  void reach_coordinator(std::chrono::milliseconds patience_with_refusals, TimePoint now);
  void joined(const Joined& answer, TimePoint now);
  void hear_clock(std::int64_t clock_us, std::int64_t echo_us, TimePoint now);
  void start(const StartRound& order, TimePoint now);
  void exited(const WorkerExited& worker, TimePoint now);
  void note_end(const WorkerExited& worker);
  void tell_ends();
  void tell_of_own_cause();
  void request_stop(int signal, TimePoint now);
  void announce_end(int signal, TimePoint now);
  void tell_of_end(TimePoint now);
  void stop_after_checkpoint(std::chrono::milliseconds time, TimePoint now);
  void stop(int signal, TimePoint now);
  void sweep();
  void after_sweep(TimePoint now);
  enum class Loss { kClosed, kSilent };  // how the connection to a coordinator is lost
  void lose_coordinator(Loss loss, const std::string& reason, TimePoint now);
  void unreachable(const CoordinatorUnreachable& event, TimePoint now);

  // When the coordinator is lost, and another agent may follow it: group_succession.cpp.
  bool has_successors() const;
  const std::string& here() const;
  void note_standing(const CoordinatorMessage& order);
  AgentEnd in_vain(int nodes, std::chrono::milliseconds patience) const;
  void part(TimePoint now);
  std::optional<TimePoint> lease_ends() const;
  void extend_lease(std::int64_t lease_ms);
  bool may_run_on() const;
  void note_seat(const StartRound& start);
  void come_back(TimePoint now);
  void resumed();
  void stop_and_search(const std::string& reason, TimePoint now);
  void hurry(TimePoint now);
  void search(TimePoint now);
  void try_next(TimePoint now);
  void try_referee(TimePoint now);
  void give_up_candidate(TimePoint now);
  void promise(const RequestVote& order, TimePoint now);
  void pass_by(const std::string& place, TimePoint now);
  void go_elsewhere(const Redirect& order, TimePoint now);

  // A newcomer, in a job whose coordinator may be at several places: group_places.cpp.
  void look_around(TimePoint now);
  void try_next_place(TimePoint now);
  void follow(const Redirect& order, TimePoint now);
  void found_at_place(std::string what);
  std::string found_at_places() const;
  void note_long_search(TimePoint now);
  void tell_standby();

  ReachCoordinator reach_at(std::string place, Patience patience, TimePoint now) const;
  void count_loss(TimePoint now);
  bool gives_up_joining(TimePoint now) const;
  std::chrono::milliseconds pause_before_joining() const;
  void tell(AgentMessage message);
  void tell_progress(TimePoint now);
  void tell_inspected(const WorkersInspected& answer);
  void alarm(TimePoint now);
  void end_grace(TimePoint now);
  void kill(TimePoint now);
  void beat_if_due(TimePoint now);
  void beat(TimePoint now);
  void check_silence(TimePoint now);
  std::optional<TimePoint> silence_ends() const;
  bool asked_for_checkpoint() const;
  void exit_with(AgentEnd end, int signal, TimePoint now);
  void hold_end(const EndJob& end, TimePoint now);
  void exit_as_told(TimePoint now);

  AgentRules rules_;
  State state_ = State::kIdle;
  JobCounters known_;  // what coordinators have told of the job
  int round_ = 0;
  int alive_ = 0;
  RoundOutcome outcome_;
  struct Progressed {
    RankProgress progress;
    TimePoint at;
  };
  std::map<int, Progressed> progressed_;  // by rank: what the next beat is to tell
  std::map<int, Progressed> told_last_;   // by rank: what a coordinator that knows nothing is told
  std::optional<AgentEnd> end_;           // set: exit once nothing of the round is alive
  bool rejoining_ = false;                // once nothing of the round is alive
  std::optional<EndJob> held_end_;        // how the job has ended; perhaps not all know it yet

  struct Contact {
    TimePoint since;
    TimePoint last_heard;
    std::optional<TimePoint> beat_due;  // nullopt: not joined yet
    std::optional<TimePoint> asked = {};
    std::string place = {};                      // as ReachCoordinator's `at`
    bool counts = false;                         // this coordinator may count on this node
    TimePoint sent = {};                         // when the last beat was that it has answered
    TimePoint lease = {};                        // the workers may be alive until then
    std::int64_t its_clock_us = 0;               // what it has said last of its own clock
    TimePoint its_clock_heard = {};              // when that was
    TimePoint echoed = {};                       // the same of what a beat has said back
    std::optional<TimePoint> voting_until = {};  // it coordinates nothing yet
    ClockOffset clock = {};                      // of the coordinator
  };
  std::optional<Contact> contact_;  // with the coordinator; nullopt: there is no connection
  bool met_ = false;                // there has been one

  VoterState voter_;
  bool witnessed_ = false;               // a witness votes in the last round
  std::vector<std::string> successors_;  // of the coordinator that was obeyed last
  std::string reaching_;                 // the place that is tried, as ReachCoordinator's `at`
  bool coming_back_ = false;             // to the coordinator, while the workers run on
  bool keeps_workers_ = false;           // as Joined has it
  std::string kept_at_;                  // the place of who has said so, as ReachCoordinator's `at`
  std::optional<TimePoint> fence_;       // others may begin a round then
  TimePoint counted_until_;              // by the coordinator that was left last
  std::optional<WorkerFailed> failed_;   // what was told of the round
  struct Search {
    TimePoint since;
    std::vector<std::string> places;  // that are tried, one after the other, again and again
    std::size_t next = 0;
    bool refused = true;  // at each of them nobody listens
    std::string why = "the coordinator is lost, and nobody has followed it";  // when it is in vain

    // Of a newcomer.
    std::map<std::string, std::string> found = {};  // what was found there the last time
    std::int64_t told_epoch = 0;                    // of who was told of in this turn
    TimePoint note_due = {};                        // to the user
  };
  std::optional<Search> search_;  // for a coordinator
  std::string first_place_;       // that is to be tried first
  std::int64_t followed_ = 0;     // the greatest epoch of who was told of, and not joined yet
  Leader told_;                   // to what stands by

  struct LossesInARow {
    int count = 0;
    TimePoint first;
  };
  LossesInARow losses_;  // of connections that were lost soon, and with no round since

  struct Grace {
    enum class For { kCheckpoint, kSigterm, kSigkill };
    For what;  // was the last thing that workers were asked or told
    TimePoint ends;
  };
  std::optional<Grace> grace_;  // for the workers to end

  struct Announcement {
    TimePoint came;
    TimePoint ends;  // the time for a checkpoint
    std::string reason;
  };
  std::optional<Announcement> announced_;  // the first one of the scheduler's

  struct StopRequests {
    int count = 0;
    TimePoint last;
  };
  StopRequests stop_requests_;
  std::vector<AgentAction> actions_;
};

}  // namespace ddprun
