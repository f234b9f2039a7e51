// The messages by which a node comes to a job, is known to be alive, waits for a round, and goes.
// Each is one of messages.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/node_load.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/job_terms.hpp"
#include "rendezvous/messages/kept_checkpoints.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

// --- agent to coordinator ---

/// The greatest numbers that an agent has heard from the coordinators of its job; 0: none yet. A
/// coordinator that was restarted goes on from them.
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
  int place = 0;              // which of the job's places this is, as the agent has learned; 0: the
                              // first
  bool witness = false;       // it votes, and has no workers and no place in a round
  ParkedWorkers parked = {};  // where their coordinator was lost
  /// The time that this node may take to check itself, between the end of its workers and its
  /// answer to StopRound; 0: it does not.
  std::int64_t check_ms = 0;
  std::string unfit = {};  // as Fitness'
  bool operator==(const Join&) const = default;
};
/// A heartbeat. The coordinator answers it with another, or with Waiting. The two tell how far the
/// clocks are apart (agent/decisions/contact.hpp).
struct Beat {
  std::int64_t clock_us = 0;  // the sender's, as it is sent; 0: it does not tell
  std::int64_t echo_us = 0;   // the last `clock_us` that was heard of the other side; 0: none was
  int round = 0;              // an agent's: the last one that it knows; 0: none
  int committed = 0;          // a coordinator's: the last one of which all its nodes know; 0: none
  std::int64_t epoch = 0;     // the leader's that formed that round
  int revision = 0;           // which of that round's sets of voters
  int committed_nodes = 0;    // that vote in it; 0: it does not tell
  /// A coordinator's: how long the workers may be alive after the beat was sent that this answers;
  /// -1: as long as the connection lasts.
  std::int64_t lease_ms = -1;
  int spares = 0;     // a coordinator's: nodes that wait for a place
  bool keep = false;  // a coordinator's: the round's workers may stay, parked, where it is lost
  std::optional<NodeLoad> load = {};                // an agent's machine
  std::optional<KeptCheckpoints> checkpoints = {};  // that an agent keeps for its workers
  bool operator==(const Beat&) const = default;
};
/// Comes in place of Join from an agent that finds its port taken and asks whose it is.
struct Identify {
  std::string run_id;  // the job that the agent wanted to host there; "": none
  /// When a coordinator asks: its epoch, and where it is. A process with a smaller epoch
  /// coordinates no more.
  std::int64_t epoch = 0;
  std::string coordinator;
  bool operator==(const Identify&) const = default;
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
/// The node goes in order: its workers have been stopped.
struct Leave {
  std::string reason;
  bool operator==(const Leave&) const = default;
};

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
  int objected = 0;            // how many of them are to give their place to others
  bool operator==(const Waiting&) const = default;
};
/// The answer to Identify: who listens at this port.
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

}  // namespace ddprun
