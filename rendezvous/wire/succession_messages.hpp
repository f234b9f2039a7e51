// The messages by which it is decided who coordinates a job: docs/protocol.md, section
// "Succession".
#pragma once

#include <cstdint>
#include <string>

#include "rendezvous/wire/standing.hpp"

namespace ddprun {

/// Asks a `ddprun server` to vote in a job. It comes in place of a Join, from one who coordinates
/// the job or wants to, and goes only to one whose Introduction says that it is a witness. From
/// then on the connection is turned round: the answer is the witness's Join, or Elsewhere when it
/// obeys another coordinator.
struct BeWitness {
  std::string run_id;
  std::int64_t epoch = 0;            // of the coordinator; 0: it is none yet
  int round = 0;                     // the last one that it has begun or heard of; 0: none
  std::string coordinator;           // where it is, as HOST:PORT
  std::int64_t join_timeout_ms = 0;  // of the job
  bool operator==(const BeWitness&) const = default;
};
/// The answer to Elect: the agent obeys no coordinator with a smaller epoch any more.
struct Promise {
  std::int64_t epoch = 0;
  std::int64_t echo_us = 0;  // Elect's clock_us
  bool operator==(const Promise&) const = default;
};
/// Who listens here coordinates nothing, and may follow a coordinator that is lost. The agent has a
/// vote here as long as the connection lasts.
struct Voting {
  int votes = 0;
  bool operator==(const Voting&) const = default;
};
/// Whoever sends it wants to coordinate the job, and has the votes for it.
struct Elect {
  std::int64_t epoch = 0;
  std::int64_t clock_us = 0;  // as Beat's
  bool operator==(const Elect&) const = default;
};
/// The agent is to stop its workers, if it has any, and to join there; "": here, once more.
struct Elsewhere {
  std::string coordinator;  // HOST:PORT
  std::int64_t epoch = 0;   // of who is there
  bool operator==(const Elsewhere&) const = default;
};
/// From now on others vote in the round that the agent was told of last: a witness has come, or has
/// gone. Nothing else of the round changes.
struct Voters {
  KnownRound round;          // with a greater edition
  bool witnessed = false;    // a witness is among them
  bool head_seated = false;  // as StartRound's, for the witness
  bool operator==(const Voters&) const = default;
};

}  // namespace ddprun
