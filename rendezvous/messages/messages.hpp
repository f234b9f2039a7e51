// The messages between agents and the coordinator. Each is a struct here and one line of JSON on
// the wire: an object that has the struct's fields and a "type".
//
// docs/internals/messages.md says who sends what and when. Decoding trusts nobody: a line that does
// not fit is an Error with a sentence, never an exception or a half-filled struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/failure.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/progress.hpp"
#include "rendezvous/messages/question_messages.hpp"
#include "rendezvous/messages/succession_messages.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/messages/voter_state.hpp"
#include "rendezvous/messages/worker_end.hpp"

namespace ddprun {

/// An agent process's name for itself, which no other agent has, and which it keeps for its life: 1
/// to kNodeIdBytesMax bytes.
using NodeId = std::string;

/// All nodes of a job and its coordinator must have the same version.
inline constexpr int kProtocolVersion = 1;

// Limits: what exceeds one is refused, and the sender's connection is closed. message_limits.hpp
// has more of them.
inline constexpr std::size_t kLineBytesMax = 384 * 1024;  // a message with its newline
inline constexpr std::size_t kNodeIdBytesMax = 64;
inline constexpr std::size_t kRunIdBytesMax = 1024;
inline constexpr std::size_t kRoleBytesMax = 256;
inline constexpr int kWorkersPerNodeMax = 65'536;

/// So many nodes are told of as those that may follow a lost coordinator.
inline constexpr std::size_t kSuccessorsMax = 3;
inline constexpr std::size_t kEndpointBytesMax = 300;  // the length of HOST:PORT
/// So many places may a job name at which its coordinator may be.
inline constexpr std::size_t kPlacesMax = 16;

/// The first byte of every agent's connection; that of a TCPStore client is kStoreFirstByte.
inline constexpr char kAgentFirstByte = '{';

// --- agent to coordinator ---

/// The greatest numbers that an agent has heard from the coordinators of its job; 0: none yet. A
/// coordinator that has been started anew goes on from them.
struct JobCounters {
  int round = 0;
  int attempt = 0;  // more than the job's restarts: the job has failed
  bool operator==(const JobCounters&) const = default;
};
/// A node wants to take part in a job.
struct Join {
  int protocol = kProtocolVersion;
  std::string run_id;  // the name of the job
  NodeId node;
  /// Which of the agent's connections this is, from 1: a newer one replaces an older one.
  std::int64_t incarnation = 1;
  JobCounters counters;
  std::string host;  // the node's name for people
  int workers = 1;   // processes that the node will start
  std::string role = "default";
  int node_rank = -1;  // the group rank that the node wants; -1: any
  JobTerms terms;
  VoterState voter;
  int place = 0;         // which of the job's places this is, as the agent was told; 0: the first
  bool witness = false;  // it votes, and has no workers and no place in a round
  ParkedWorkers parked = {};  // where their coordinator was lost
  /// So long this node may look at itself, between the end of its workers and its answer to
  /// StopRound; 0: it does not.
  std::int64_t check_ms = 0;
  std::string unfit = {};  // as Fitness'
  bool operator==(const Join&) const = default;
};
/// A heartbeat. The coordinator answers it with another, or with Waiting. The two tell how far the
/// clocks are apart (agent/decisions/clock_offset.hpp).
struct Beat {
  std::int64_t clock_us = 0;  // the sender's, as it is sent; 0: it does not tell
  std::int64_t echo_us = 0;   // the last `clock_us` that was heard of the other side; 0: none was
  int round = 0;              // an agent's: the last one that it was told of; 0: of none
  int committed = 0;          // a coordinator's: the last one of which all its nodes know; 0: none
  std::int64_t epoch = 0;     // the leader's that formed that round
  int revision = 0;           // which of that round's sets of voters
  int committed_nodes = 0;    // that vote in it; 0: it does not tell
  /// A coordinator's: the workers may be alive for so long after the beat was sent that this
  /// answers; -1: as long as the connection lasts.
  std::int64_t lease_ms = -1;
  int spares = 0;     // a coordinator's: nodes that wait for a place
  bool keep = false;  // a coordinator's: the round's workers may stay, parked, where it is lost
  bool operator==(const Beat&) const = default;
};
/// Comes in place of Join from an agent that finds its port taken and asks whose it is.
struct Identify {
  std::string run_id;  // the job that the agent wanted to host there; "": none
  /// When a coordinator asks: its epoch, and where it is. Who has a smaller one coordinates no
  /// more.
  std::int64_t epoch = 0;
  std::string coordinator;
  bool operator==(const Identify&) const = default;
};
/// A worker has failed. An agent tells of the first one of a round. As long as that seems to follow
/// from somebody else's end, it also tells of one that explains more, and when all have ended.
struct WorkerFailed {
  int round = 0;
  WorkerFailure failure;  // for the report
  WorkerEnd end;          // the agent's judgement, which all decisions go by
  double age_ms = 0;      // so long ago the worker had ended, when this was sent
  int left = 0;           // workers of this node that still run
  bool operator==(const WorkerFailed&) const = default;
};
/// All workers of this node have exited with code 0.
struct WorkersFinished {
  int round = 0;
  bool operator==(const WorkersFinished&) const = default;
};
/// All workers of this node have been started.
struct WorkersStarted {
  int round = 0;
  bool operator==(const WorkersStarted&) const = default;
};
/// The answer to StopRound: no process of the round is alive on this node, but those that have left
/// the round and are parked.
struct WorkersStopped {
  int round = 0;
  ParkedWorkers parked = {};
  bool operator==(const WorkersStopped&) const = default;
};
/// How the workers of this node ended in a round that did not end well. It comes before
/// WorkersStopped.
struct WorkersEnded {
  int round = 0;
  std::int64_t step = -1;       // the greatest one that a worker of this node has told; -1: none
  std::vector<WorkerEnd> ends;  // at most kWorkerEndsMax
  bool operator==(const WorkersEnded&) const = default;
};
/// The node has looked at itself. It comes when that has changed, and before WorkersStopped.
struct Fitness {
  /// Why it is to take part only while others are too few: "fails its check: /data is full"; "": it
  /// is as good as others.
  std::string unfit;
  bool operator==(const Fitness&) const = default;
};
/// The scheduler has announced the end of this node: the job is to write a checkpoint and end.
struct Preempt {
  std::string reason;
  std::int64_t checkpoint_ms = 0;  // how long the workers have for it
  bool operator==(const Preempt&) const = default;
};
/// How far workers of this node are, as far as that has changed. It goes with a heartbeat.
struct Progress {
  int round = 0;
  std::vector<RankProgress> ranks;  // at most kProgressRanksMax; more go in another message
  bool operator==(const Progress&) const = default;
};
/// The answer to Inspect: what some of this node's workers do. Workers of whom the same is to be
/// said come in one message; the last one says that it is.
struct Inspected {
  int inspection = 0;
  StackGroup workers;
  bool last = false;
  bool operator==(const Inspected&) const = default;
};
/// The node goes in order: its workers have been stopped.
struct Leave {
  std::string reason;
  bool operator==(const Leave&) const = default;
};
/// The job is over. The agent prints why, and its exit code follows from the outcome.
struct EndJob {
  using Outcome = JobOutcome;
  Outcome outcome = Outcome::kFinished;  // one that a coordinator decides
  int restarts = 0;                      // failure restarts that were made
  std::string message;  // kTooFewNodes: how many came and how many were needed; kPreempted: why;
                        // kHung: who hangs; kFailed: why there is no failure
  std::optional<WorkerFailure> failure;  // kFailed: the first failure of the last attempt; not
                                         // there when the coordinator that heard of it is gone
  /// The agent is to answer with EndAcknowledged, and to stay until it gets Dismiss: as long as
  /// some may not have heard of the end, those who have can tell the next coordinator.
  bool held = false;
  bool operator==(const EndJob&) const = default;
};
/// The answer to an EndJob that is held.
struct EndAcknowledged {
  bool operator==(const EndAcknowledged&) const = default;
};
/// To one who may follow a coordinator that is lost: that one had ended the job.
struct FinalStatus {
  EndJob end;
  bool operator==(const FinalStatus&) const = default;
};
using AgentMessage =
    std::variant<Join, Beat, Identify, WorkerFailed, WorkersFinished, WorkersStopped, Preempt,
                 Leave, Progress, Inspected, WorkersEnded, WorkersStarted, WorkersStay, Prepared,
                 Holding, AskStatus, AskDump, Vote, EndAcknowledged, FinalStatus, InviteWitness,
                 Fitness>;

// --- coordinator to agent ---

/// The node is admitted.
struct Joined {
  std::int64_t heartbeat_timeout_ms = 0;  // after so much silence one side gives the other up
  std::int64_t clock_us = 0;              // the coordinator's, as Beat's
  std::int64_t epoch = 0;                 // the coordinator's; 0: it has no successors
  bool resumed = false;                   // the node is in its round still, and its workers go on
  /// Only a coordinator without successors sends it: when the connection ends, the node's workers
  /// run on for as long as their lease, and meanwhile the node comes back.
  bool keeps_workers = false;
  bool operator==(const Joined&) const = default;
};
/// The node is not admitted, and its connection is closed.
struct Refused {
  std::string reason;      // a sentence for the node's user
  bool other_job = false;  // it is none of this coordinator's, and may be another one's
  bool operator==(const Refused&) const = default;
};
/// The answer to a beat while no round runs.
struct Waiting {
  int nodes = 0;  // how many are there and ready
  int nodes_min = 1;
  int nodes_max = 1;
  std::int64_t left_ms = 0;  // until the job gives up, when nodes < nodes_min; else until it starts
  std::int64_t pause_ms = 0;   // until the workers may be restarted: --restart-delay; 0: at once
  std::int64_t clock_us = 0;   // as Beat's
  std::int64_t echo_us = 0;    // as Beat's
  std::int64_t lease_ms = -1;  // as Beat's
  int objected = 0;            // so many of them are to give their place to others
  bool operator==(const Waiting&) const = default;
};
/// A node of a round that may follow its coordinator.
struct Successor {
  std::string endpoint;  // where its agent would coordinate, as HOST:PORT
  int rank = -1;         // the node's, among the nodes
  bool operator==(const Successor&) const = default;
};
/// The round has its MAX nodes without this one, which waits for a place.
struct Spare {
  int round = 0;
  int nodes = 0;  // in the round
  int attempt = 0;
  std::int64_t epoch = 0;   // the leader's whose round it is
  Configuration committed;  // the last one of which all its nodes know; `member` is not used
  std::vector<Successor> successors = {};  // as StartRound's
  /// What is against this node, behind "this node": "caused 3 failures within 1d"; mostly "".
  std::string objection = {};
  bool operator==(const Spare&) const = default;
};
/// The answer to Identify: who listens at this port. Its type on the wire is "coordinator".
struct Identity {
  std::string jobs;      // "the same job", "another job" or "3 jobs": strangers learn no name
  std::int64_t pid = 0;  // the coordinator's process
  std::string host;      // the name of its machine
  /// The epoch of the last coordinator of the same job that is known here to have begun a round,
  /// and where it is. 0: none is known; "": it was lost, and the next one is looked for.
  std::int64_t epoch = 0;
  std::string coordinator;
  bool witness = false;  // it votes in jobs of others: see InviteWitness
  bool operator==(const Identity&) const = default;
};
/// A round is sealed, and this is the node's part in it. The terms are those of torchrun's
/// environment: GROUP_RANK, WORLD_SIZE and so on.
struct StartRound {
  int round = 0;             // grows by one with every sealed round
  int attempt = 0;           // failure restarts so far
  int group_rank = 0;        // this node among the nodes
  int group_world_size = 1;  // nodes in the round
  int first_rank = 0;        // this node's first worker; the others follow
  int world_size = 1;        // workers in the round
  int first_role_rank = 0;   // the same among the workers of this node's role
  int role_world_size = 1;
  std::string master_addr;  // where the store is; "": where this node reaches the coordinator
  int master_port = 0;
  std::int64_t epoch = 0;             // the coordinator's
  std::int64_t lease_ms = -1;         // as Beat's, after the last beat that was answered
  Configuration committed;            // as Spare's
  std::vector<Successor> successors;  // those that may follow this coordinator, in their order
  int leader_rank = -1;  // the rank of the coordinator's own node; -1: it is not in the round
  std::string awaited;   // as Configuration's, of this round
  /// Local ranks, "0,2-5", in whose seats workers start beside the round; then Prepared is said.
  std::string vacant = {};
  std::string node_note = {};  // which nodes are left out because they fail; mostly ""
  bool operator==(const StartRound&) const = default;
};
/// The round goes on without this node, whose workers are to start beside it meanwhile: parked, so
/// that nobody has to wait for them when the node joins. It answers with Prepared.
struct Prepare {
  Spare waits;       // is told to every node that waits
  StartRound place;  // is what they begin with, and shall not use: they get another one to enter
  bool operator==(const Prepare&) const = default;
};
/// The node has to stop its workers of this round, and to answer with WorkersStopped.
struct StopRound {
  int round = 0;
  std::string reason;
  std::int64_t checkpoint_ms = 0;  // above 0: ask them for a checkpoint and give them so long first
  int attempt = 0;       // the next round's; more than the job's restarts: there will be none
  bool at_once = false;  // the workers have no time: others may begin a round
  bool keep = false;     // those that can are only to leave the round, and stay parked
  std::string evict;  // with `keep`: local ranks of those that hang, "0,2"; they are killed at once
  /// With `keep`: nobody is lost, and no step is to be dropped. Holding is said first, and the
  /// workers leave behind the step that LeaveAfter tells. Said without it, they leave at once.
  bool gently = false;
  bool discard = false;  // workers that have left it, and are parked, are to end
  bool last = false;     // the job ends, and no round follows
  bool operator==(const StopRound&) const = default;
};
/// The agent is to look at what its workers do, and to answer with Inspected. It disturbs nobody.
struct Inspect {
  int round = 0;
  int inspection = 0;            // counts them
  bool stopping = false;         // the round is stopped afterwards: workers may be disturbed
  std::string first;             // ranks that are to be looked at before all others: "1", "3-7,9"
  std::int64_t patience_ms = 0;  // the answer is to come within that time; 0: within 700 ms
  bool operator==(const Inspect&) const = default;
};
/// The workers hang. The agent prints it.
struct HangFound {
  int round = 0;
  HangReport report;
  bool operator==(const HangFound&) const = default;
};
/// The workers that were told of as hanging go on.
struct HangOver {
  int round = 0;
  std::int64_t lasted_ms = 0;
  bool operator==(const HangOver&) const = default;
};
/// Why the job has failed. It comes before EndJob.
struct VerdictFound {
  Verdict verdict;
  bool operator==(const VerdictFound&) const = default;
};
/// A restart is over. The agent prints what it cost.
struct Restarted {
  RestartTimes times;
  bool operator==(const Restarted&) const = default;
};
/// Where the time of the job went. It comes right before EndJob.
struct JobTimes {
  std::vector<RestartTimes> restarts;  // the last ones
  Goodput goodput;
  bool operator==(const JobTimes&) const = default;
};
/// All have heard that the job is over.
struct Dismiss {
  bool operator==(const Dismiss&) const = default;
};
using CoordinatorMessage =
    std::variant<Joined, Refused, Waiting, Spare, Identity, Beat, StartRound, Prepare, StopRound,
                 LeaveAfter, EndJob, Inspect, HangFound, HangOver, VerdictFound, Restarted,
                 JobTimes, StatusPart, DumpPart, Candidate, RequestVote, Redirect, Dismiss,
                 Reconfigure>;

/// Returns the message as one line of JSON with its newline, which decode_*() read back. It never
/// has more than kLineBytesMax bytes: every text has a limit (messages.cpp lists them), and the
/// rest of a longer one is cut off, with "…" in its place. Bytes that are not UTF-8 become U+FFFD.
std::string encode(const AgentMessage& message);
std::string encode(const CoordinatorMessage& message);

/// Reads one line, with or without its newline, and checks it against the limits. Fields that are
/// not known are passed over; one that is missing, a number that does not fit and a name that is
/// not known are errors, and so is a Join of another protocol version. Errors: kInvalid, with a
/// sentence that says what is wrong in the line and what was expected.
Result<AgentMessage> decode_agent_message(std::string_view line);
Result<CoordinatorMessage> decode_coordinator_message(std::string_view line);

}  // namespace ddprun
