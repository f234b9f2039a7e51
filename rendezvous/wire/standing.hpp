// What an agent knows of who coordinates its job. It tells it in its Join, and those who may follow
// a lost coordinator decide by it: docs/protocol.md, section "Succession".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

/// A list of ranks in the text of a round has at most so many bytes; of a longer one nothing is
/// told.
inline constexpr std::size_t kAwaitedBytesMax = 512;

/// A round, and whose it is: two coordinators may use the same number, one of them for a round that
/// few have heard of. Later ones compare as greater.
struct RoundName {
  std::int64_t epoch = 0;  // of the coordinator; 0: there is no such round
  int round = 0;
  int edition = 0;  // grows while the round runs, each time that others vote than before
  auto operator<=>(const RoundName&) const = default;
};

/// A round that an agent has heard of.
struct KnownRound {
  RoundName name;
  int nodes = 0;        // that vote: those in it, and perhaps a witness, which has the last rank
  bool member = false;  // the agent is one of them
  int rank = -1;        // then: which
  /// Who has to know of it before it settles, of the round that had settled before it: their ranks
  /// in that one, as "0-3,8". "": nobody is known.
  std::string awaited = {};
  bool operator==(const KnownRound&) const = default;
};

/// An agent's place in the last round that a `ddprun server` has told it of. A server that is
/// started again knows that round from nobody else.
struct HostedSeat {
  int round = 0;       // 0: there was none
  int nodes = 0;       // in it
  int group_rank = 0;  // of this node
  int first_rank = 0;  // of this node's first worker
  int world_size = 0;  // workers in the round
  int store_port = 0;  // where the store was, on the server
  bool operator==(const HostedSeat&) const = default;
};

struct Standing {
  std::int64_t epoch = 0;  // of the coordinator that it obeyed last; 0: of none that has successors
  std::int64_t promised = 0;  // it obeys no coordinator with a smaller epoch any more
  KnownRound started;         // the last round that it was told of
  KnownRound settled;         // the last one of which it has heard that all its nodes know of it
  int running = 0;            // the round whose workers it has alive; 0: none
  std::int64_t fence_ms = 0;  // the coordinator that it obeyed last may count on it for so long yet
  bool head_gone = false;     // that one's process is gone
  bool head_seated = false;   // that one's own node was in the round
  std::string head;           // where that one was, as HOST:PORT; "": there was none
  int standby_port = 0;       // where this agent would coordinate, on its host; 0: nowhere
  bool beside = false;        // it is in the process of the coordinator that it speaks to
  HostedSeat seat;            // in a job that a `ddprun server` hosts
  bool operator==(const Standing&) const = default;
};

}  // namespace ddprun
