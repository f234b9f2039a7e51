// Whose orders a node obeys, and what a voter of a job knows.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

/// The last coordinator that is known to have begun a round.
struct Leader {
  std::int64_t epoch = 0;        // 0: none is known
  std::string coordinator = {};  // HOST:PORT; "": it was lost, and the next one is looked for
  bool operator==(const Leader&) const = default;
};

// What a voter of a job knows: an agent, or a witness. Its Join carries it, and possible successors
// of a lost coordinator decide by it: docs/internals/succession.md.
//
// The words are those of Paxos and Raft. A round is a configuration: the nodes that vote. It is
// proposed when it begins, and committed when all its voters know of it.

/// The most bytes that a list of ranks in a VoterState has; a longer one is left out.
inline constexpr std::size_t kRankListBytesMax = 512;

/// Names a configuration. Two leaders may use one number, one of them for a round that few have
/// heard of; so the epoch comes first. Later versions compare as greater.
struct ConfigurationVersion {
  std::int64_t epoch = 0;  // the leader's; 0: there is no such configuration
  int round = 0;
  int revision = 0;  // grows while the round runs, each time that its voters change
  auto operator<=>(const ConfigurationVersion&) const = default;
};

/// The voters of a round, as one of them knows it.
struct Configuration {
  ConfigurationVersion version;
  int voters = 0;       // nodes of the round, and perhaps one more, which has the last rank
  bool member = false;  // the voter that knows it is one of them
  int rank = -1;        // the voter's own rank among the members; -1: it is no member
  /// Ranks, in the committed configuration before this one, of those that must know of this one
  /// before it commits, as "0-3,8". "": they are not known.
  std::string awaited = {};
  bool operator==(const Configuration&) const = default;
};

/// A node's place in the last round that a `ddprun server` sent it. A server that is started
/// again has no other way to know that round.
struct HostedAssignment {
  int round = 0;            // 0: there was none
  int nodes = 0;            // in it
  int group_rank = 0;       // this node's
  int first_rank = 0;       // this node's first worker
  int world_size = 0;       // workers in the round
  int store_port = 0;       // where the store was, on the server
  std::string vacant = {};  // as StartRound's
  bool operator==(const HostedAssignment&) const = default;
};

struct VoterState {
  std::int64_t epoch = 0;     // the leader's that it followed last; 0: none that can be followed
  std::int64_t promised = 0;  // no leader with a smaller epoch is followed any more
  Configuration proposed;     // the last configuration that it got
  Configuration committed;    // the last one that it knows to be committed
  int running = 0;            // the round whose workers it has alive; 0: none
  std::int64_t old_lease_ms = 0;  // how long the last leader that it followed may count on it yet
  std::string leader;             // where that one was, as HOST:PORT; "": there was none
  bool leader_dead = false;       // its process is gone
  /// Ranks, in the proposed configuration, of nodes whose agent it has found gone, as "0-3,8".
  std::string dead_ranks = {};
  int spares = 0;                 // nodes without a vote that waited for a place, as told last
  bool leader_is_member = false;  // its own node was in the round
  int standby_port = 0;           // where this agent would coordinate, on its host; 0: nowhere
  bool colocated = false;         // it is in the process of the coordinator that it speaks to
  HostedAssignment assignment;    // in a job that a `ddprun server` hosts
  bool operator==(const VoterState&) const = default;
};

}  // namespace ddprun
