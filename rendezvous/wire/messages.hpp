// What agents and the coordinator say to each other: one struct per message, one line of JSON each.
//
// The rules of the conversation are in PROTOCOL.md, section "Messages". Decoding trusts nobody: a
// line that does not fit is an Error with a sentence, never an exception or a half-filled struct.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/failure.hpp"
#include "base/result.hpp"
#include "rendezvous/wire/job_terms.hpp"

namespace ddprun {

using NodeId = std::string;  // fresh for every agent process, 1..64 characters

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kLineBytesMax = 256 * 1024;
inline constexpr int kWorkersPerNodeMax = 65'536;
inline constexpr std::size_t kRunIdBytesMax = 1024;
inline constexpr std::int64_t kTimeoutMsMax = 10LL * 365 * 24 * 3600 * 1000;  // ten years

/// The first byte of every agent's connection; a TCPStore client's is 0x00.
inline constexpr char kAgentFirstByte = '{';

// --- agent to coordinator ---

struct Join {
  int protocol = kProtocolVersion;
  std::string run_id;
  NodeId node;
  std::string host;
  int workers = 1;
  std::string role = "default";
  int node_rank = -1;  // the wanted group rank; -1: any
  JobTerms terms;
  bool operator==(const Join&) const = default;
};
struct Beat {
  bool operator==(const Beat&) const = default;
};
/// Asked instead of joining by whoever wants to know whose port this is.
struct WhoIsThere {
  bool operator==(const WhoIsThere&) const = default;
};
/// A worker failed; the others of this node still run. Sent once a round.
struct WorkerFailed {
  int round = 0;
  WorkerFailure failure;
  bool operator==(const WorkerFailed&) const = default;
};
/// All workers of this node have exited with code 0.
struct WorkersFinished {
  int round = 0;
  bool operator==(const WorkersFinished&) const = default;
};
/// The answer to StopRound: no process of the round is alive on this node.
struct WorkersStopped {
  int round = 0;
  bool operator==(const WorkersStopped&) const = default;
};
/// The scheduler has announced the end of this node: the job is to write a checkpoint and end.
struct Preempt {
  std::string reason;
  std::int64_t checkpoint_ms = 0;  // that the workers have for it
  bool operator==(const Preempt&) const = default;
};
/// The node goes away in order, its workers have been stopped.
struct Leave {
  std::string reason;
  bool operator==(const Leave&) const = default;
};
using AgentMessage = std::variant<Join, Beat, WhoIsThere, WorkerFailed, WorkersFinished,
                                  WorkersStopped, Preempt, Leave>;

// --- coordinator to agent ---

struct Joined {
  std::int64_t heartbeat_timeout_ms = 0;  // silence after which either side gives the other up
  bool operator==(const Joined&) const = default;
};
struct Refused {
  std::string reason;
  bool operator==(const Refused&) const = default;
};
/// The answer to a beat while no round runs.
struct Waiting {
  int nodes = 0;  // that are there and ready
  int nodes_min = 1;
  int nodes_max = 1;
  std::int64_t left_ms = 0;  // below MIN: until the job gives up; else until it starts
  bool operator==(const Waiting&) const = default;
};
/// The round has its MAX nodes without this one, which waits for a place.
struct Spare {
  int round = 0;
  int nodes = 0;
  bool operator==(const Spare&) const = default;
};
/// The answer to WhoIsThere: who listens at this port.
struct Introduction {
  std::string jobs;  // "job 'a'", or "3 jobs"
  std::int64_t pid = 0;
  std::string host;
  bool operator==(const Introduction&) const = default;
};
/// This node's part in a sealed round.
struct StartRound {
  int round = 0;    // grows by one with every membership
  int attempt = 0;  // failure restarts so far
  int group_rank = 0;
  int group_world_size = 1;
  int first_rank = 0;  // of this node's workers; the others follow
  int world_size = 1;
  int first_role_rank = 0;
  int role_world_size = 1;
  std::string master_addr;  // "": where this node reaches the coordinator
  int master_port = 0;
  bool operator==(const StartRound&) const = default;
};
struct StopRound {
  int round = 0;
  std::string reason;
  std::int64_t checkpoint_ms = 0;  // above 0: ask for a checkpoint first, and leave them that long
  bool operator==(const StopRound&) const = default;
};
/// The job is over: what to say and how to exit.
struct EndJob {
  enum class Outcome { kFinished, kFailed, kTimedOut, kPreempted };
  Outcome outcome = Outcome::kFinished;
  int restarts = 0;     // failure restarts that were made
  std::string message;  // kTimedOut: how many were there, how many needed; kPreempted: why
  std::optional<WorkerFailure> failure;  // kFailed: the first one of the last attempt
  bool operator==(const EndJob&) const = default;
};
using CoordinatorMessage = std::variant<Joined, Refused, Waiting, Spare, Introduction, Beat,
                                        StartRound, StopRound, EndJob>;

/// One line, with its newline, that decode_* reads back. Bytes that are not UTF-8 are replaced.
std::string encode(const AgentMessage& message);
std::string encode(const CoordinatorMessage& message);

/// Errors: kInvalid, with what is wrong in the line.
Result<AgentMessage> decode_agent_message(std::string_view line);
Result<CoordinatorMessage> decode_coordinator_message(std::string_view line);

}  // namespace ddprun
