// What happens to this node's agent, and what it does: the rules, events and actions of
// AgentMachine. Pure.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/decisions/agent_end.hpp"
#include "base/clock.hpp"
#include "base/failure.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/messages/voter_state.hpp"
#include "rendezvous/transport/connect_plan.hpp"
#include "rendezvous/verdict/judge_end.hpp"

namespace ddprun {

/// How a node finds the successor of a coordinator that is lost.
enum class FindSuccessor {
  kAmongNodes,  // the nodes elect it
  kInRegistry,  // a registry says who it is; see ReachCoordinator's `at`
};

struct AgentRules {
  int workers = 1;
  JobTerms terms = {};  // the job's; what the coordinator says of the heartbeat timeout wins
  bool rejoin = false;  // a lost coordinator may come back: join again, rather than end
  std::chrono::milliseconds preempt_timeout{60'000};  // for a checkpoint, when the end is announced
  std::chrono::milliseconds preempt_timeout_after_sigterm{20'000};  // when SIGTERM announces it
  int checkpoint_signal = SIGUSR1;                                  // asks a worker for one
  bool hears_workers = true;  // those that can stay are heard, and so may wait parked
  std::string endpoint;       // where this node reaches the job's coordinator, as HOST:PORT
  /// Where it may be, too, in the order in which they are tried; that one first. Empty: there only.
  std::vector<std::string> places = {};
  FindSuccessor find_successor = FindSuccessor::kAmongNodes;
  /// Whether silence shows that the coordinator is lost, as Leadership says it of nodes.
  bool counts_silence = true;
  bool checks_itself = false;  // whether the node is fit, before it joins and before each round
};

/// The least time that a process at the coordinator's endpoint has to answer to a join.
inline constexpr std::chrono::milliseconds kAnswerTimeoutMin{3'000};
/// Time that a candidate has at least to find the votes.
inline constexpr std::chrono::milliseconds kVotingMin{1'000};
/// A newcomer waits this long at a node that coordinates nothing: it may be about to begin the job.
inline constexpr std::chrono::milliseconds kVotingOfNewcomer{200};
/// An attempt to find a coordinator at one place takes at most this long.
inline constexpr std::chrono::milliseconds kPlaceTimeout{1'000};
/// A second stop signal this soon after the first is the same request: Slurm sends SIGTERM twice.
inline constexpr std::chrono::milliseconds kOneRequest{300};
/// The user is informed of workers that take longer than this to end.
inline constexpr std::chrono::milliseconds kSoonEnough{3'000};
/// What a second stop signal leaves of the grace.
inline constexpr std::chrono::milliseconds kShortGrace{3'000};
/// More announcements of the end in this time are the same one: Slurm's steps and its batch script
/// each get theirs.
inline constexpr std::chrono::milliseconds kOneAnnouncement{5'000};

/// A coordinator that is there answers to a farewell by then, and the user waits no longer.
inline constexpr std::chrono::milliseconds kFarewell{500};

/// What ends by itself when the workers have ended, such as Python's resource tracker, has done so
/// by then.
inline constexpr std::chrono::milliseconds kEndsByItself{250};
/// What workers that have ended by themselves left behind has this long to end, too.
inline constexpr std::chrono::milliseconds kLeftoverTime{2'000};

/// A thread of the worker's own answers when it is asked to hold, but Python may not let it run.
inline constexpr std::chrono::milliseconds kTimeToHold{1'000};

/// The round that a worker is of before its first one.
inline constexpr int kNoRound = 0;

// clang-format off
struct AgentBegins {};                       // once, before all others
struct Ordered { CoordinatorMessage message; };
// What a worker of the elastic loop says of itself: it can stay when members of that round change,
// `resize`: also where they are other ones then
struct CanStay { int round = 0; bool resize = true; };
struct Parked { int round = 0; };            // it has left that round, and waits for the next one,
struct Stuck { int round = 0; };             // or waits for members of it, and nothing frees it,
struct CannotStay {};                        // it cannot stay any more
// Holding: it counts no further step of that round until it is ordered how far to go.
using WorkerWord = std::variant<CanStay, Holding, Parked, Stuck, CannotStay>;
// `step` is that of its last heartbeat
struct WorkerSaid { int local_rank = 0; WorkerWord what; std::int64_t step = -1; };
struct TreeGone {};                          // the answer to SweepTree
struct WorkersRun {};                        // the answer to StartWorkers, if some could be started
// The answer to ReachCoordinator: it has answered what was asked at that time; place "": as wished,
struct Connected { std::optional<TimePoint> asked = {}; std::string place = {}; };
// or the patience has ended; `refused`: no process listens there any more
struct CoordinatorUnreachable { std::string reason; bool refused = false; };
struct CoordinatorLost { std::string reason; };         // the connection has ended by itself
struct StopSignal { int signal; };
struct EndAnnounced { int signal; };         // by the scheduler: time for a checkpoint
struct PassOn { int signal; };               // meant for the workers, not for ddprun
struct WorkerProgressed { RankProgress progress; };
struct WorkerArrived { Arrivals arrivals; };  // its times are those of Clock
struct DebuggersChanged { std::vector<DebuggedRank> ranks; };  // all of this node, in the round
struct WorkersInspected { int inspection; std::vector<StackGroup> groups; };  // see InspectWorkers
// The answer to CheckSelf: what Fitness says; or why that is not known, "": it is
struct Checked { int check; std::string unfit; std::string error = {}; };
struct Alarm {};                             // next_alarm() has come
using AgentEvent = std::variant<AgentBegins, Ordered, WorkerExited, WorkerSaid, TreeGone, WorkersRun, Connected,
                                CoordinatorUnreachable, CoordinatorLost, StopSignal, EndAnnounced,
                                PassOn, WorkerProgressed, WorkerArrived, DebuggersChanged, WorkersInspected, Checked, Alarm>;

// Connect after the pause, and join with this. `at` is HOST:PORT; "": where the job's coordinator
// is, as etcd knows where there is one.
struct ReachCoordinator {
  Patience patience;
  JobCounters counters;
  std::chrono::milliseconds pause{};
  VoterState voter = {};
  std::string at = {};
  ParkedWorkers parked = {};
  std::string unfit = {};
};
// Those that are alive, parked or preparing, enter it. `parked`: none of them is to enter it.
struct StartWorkers { StartRound round; bool parked = false; };
struct AskToHold { int round; };             // the workers of that round, which then are Holding
struct AskToLeaveAfter { LeaveAfter order; };  // those that hold, which then are Parked
struct AskToLeave { int round; };            // the workers of that round, which then are Parked
struct KillWorkers { std::vector<int> local_ranks; };
struct SignalWorkers { int signal; bool to_stop = true; };  // see tell_to_end(), stopping.hpp
struct AskForCheckpoint { int signal; };                    // those with a handler alone
// End and reap all that workers left behind, then TreeGone; `in_place`: workers that live stay.
// `at_once`: kill it; else it may end by itself, gets SIGTERM, and is killed by KillLeftovers.
struct SweepTree { bool in_place = false; bool at_once = false; };
struct KillLeftovers {};
struct InspectWorkers { Inspect question; };  // then WorkersInspected
struct ExtendTimeouts { bool extended = false; };  // torch's timeouts of this node's workers
// Whether the node is fit. What dead workers leave may take this long to go away. Then Checked.
struct CheckSelf { int check; std::chrono::milliseconds patience; };
struct Tell { AgentMessage message; };  // the coordinator
struct Disconnect {};                   // it is silent: end the connection
struct TellStandby { Leader leader; };  // to the server that may coordinate the job in this process
struct Warn { std::string text; };
struct Exit { AgentEnd end; };
using AgentAction = std::variant<ReachCoordinator, StartWorkers, AskToHold, AskToLeaveAfter, AskToLeave, KillWorkers,
                                 SignalWorkers, AskForCheckpoint, SweepTree, KillLeftovers, InspectWorkers, ExtendTimeouts, CheckSelf, Tell, Disconnect, TellStandby, Warn,
                                 Exit>;
// clang-format on

}  // namespace ddprun
