// The messages by which a round begins, runs and stops: docs/internals/rounds.md. Each is one of
// messages.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

// --- agent to coordinator ---

/// All workers of this node have been started.
struct WorkersStarted {
  int round = 0;
  bool operator==(const WorkersStarted&) const = default;
};
/// A worker has failed. An agent tells of the first one of a round. As long as that seems to follow
/// from somebody else's end, it also tells of one that explains more, and when all have ended.
struct WorkerFailed {
  int round = 0;
  WorkerFailure failure;  // for the report
  WorkerEnd end;          // the agent's judgement, which all decisions go by
  double age_ms = 0;      // time since the worker had ended, when this was sent
  int left = 0;           // workers of this node that still run
  bool operator==(const WorkerFailed&) const = default;
};
/// All workers of this node have exited with code 0.
struct WorkersFinished {
  int round = 0;
  bool operator==(const WorkersFinished&) const = default;
};
/// How the workers of this node ended in a round that did not end well. It comes before
/// WorkersStopped.
struct WorkersEnded {
  int round = 0;
  std::int64_t step = -1;       // the greatest one that a worker of this node reported; -1: none
  std::vector<WorkerEnd> ends;  // at most kWorkerEndsMax
  bool operator==(const WorkersEnded&) const = default;
};
/// The answer to StopRound: no process of the round is alive on this node, but those that have left
/// the round and are parked.
struct WorkersStopped {
  int round = 0;
  ParkedWorkers parked = {};
  bool operator==(const WorkersStopped&) const = default;
};

// --- coordinator to agent ---

/// A node of a round that may follow its coordinator.
struct Successor {
  std::string endpoint;  // where its agent would coordinate, as HOST:PORT
  int rank = -1;         // the node's, among the nodes
  bool operator==(const Successor&) const = default;
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
  /// Local ranks, "0,2-5", in whose seats workers start beside the round; the answer is Prepared.
  std::string vacant = {};
  std::string node_note = {};  // which nodes are left out because they fail; usually ""
  RoundCheckpoint checkpoint = {};
  bool operator==(const StartRound&) const = default;
};
/// The round has its MAX nodes without this one, which waits for a place.
struct Spare {
  int round = 0;
  int nodes = 0;  // in the round
  int attempt = 0;
  std::int64_t epoch = 0;   // the leader's whose round it is
  Configuration committed;  // the last one of which all its nodes know; `member` is not used
  std::vector<Successor> successors = {};  // as StartRound's
  /// The objection to this node, behind "this node": "caused 3 failures within 1d"; usually "".
  std::string objection = {};
  bool operator==(const Spare&) const = default;
};
/// The round goes on without this node, whose workers are to start beside it meanwhile: parked, so
/// that no other node waits for them when this one joins. It answers with Prepared.
struct Prepare {
  Spare waits;       // is sent to every node that waits
  StartRound place;  // is what they begin with, and shall not use: they get another one to enter
  bool operator==(const Prepare&) const = default;
};
/// The node has to stop its workers of this round, and to answer with WorkersStopped.
struct StopRound {
  int round = 0;
  std::string reason;
  std::int64_t checkpoint_ms = 0;  // above 0: ask them for a checkpoint and give them this long
                                   // first
  int attempt = 0;       // the next round's; more than the job's restarts: there will be none
  bool at_once = false;  // the workers have no time: others may begin a round
  bool keep = false;     // those that can are only to leave the round, and stay parked
  std::string evict;  // with `keep`: local ranks of those that hang, "0,2"; they are killed at once
  /// With `keep`: no worker is lost, and no step is to be dropped. The node answers Holding first,
  /// and the workers leave behind the step that LeaveAfter names. If it is sent again without this,
  /// they leave at once.
  bool gently = false;
  bool discard = false;  // workers that have left it, and are parked, are to end
  bool last = false;     // the job ends, and no round follows
  bool operator==(const StopRound&) const = default;
};

/// The local ranks that a list such as StartRound's `vacant` names, of a node with that many
/// workers.
RankList seats_in(const std::string& list, int workers);

/// How many of the node's workers are in a round in which these seats are vacant.
int workers_in(const std::string& vacant, int workers);

/// The rank of the node's worker. That of one which starts beside the round is not its own: it is a
/// number that no worker in the round has.
int rank_of(const StartRound& round, int local_rank);

/// The worker of the node that has this rank; -1: none has.
int local_rank_of(const StartRound& round, int workers, int rank);

}  // namespace ddprun
