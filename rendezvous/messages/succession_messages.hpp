// The messages by which it is decided who coordinates a job: docs/internals/succession.md.
#pragma once

#include <cstdint>
#include <string>

#include "rendezvous/messages/voter_state.hpp"

namespace ddprun {

/// Asks a `ddprun server` to vote in a job. It comes in place of a Join, from the coordinator or a
/// candidate, and goes only to a process whose Identity says that it is a witness. From then on the
/// connection is turned round: the answer is the witness's Join, or Redirect when it obeys another
/// coordinator.
struct InviteWitness {
  std::string run_id;
  std::int64_t epoch = 0;            // the coordinator's; 0: it is none yet
  int round = 0;                     // the last one that it has begun or heard of; 0: none
  std::string coordinator;           // where it is, as HOST:PORT
  std::int64_t join_timeout_ms = 0;  // the job's
  bool operator==(const InviteWitness&) const = default;
};
/// The answer to RequestVote: the agent obeys no coordinator with a smaller epoch any more.
struct Vote {
  std::int64_t epoch = 0;
  std::int64_t echo_us = 0;  // RequestVote's clock_us
  bool operator==(const Vote&) const = default;
};
/// The agent that listens here coordinates nothing, and may follow a coordinator that is lost. The
/// agent has a vote here as long as the connection lasts.
struct Candidate {
  int votes = 0;
  bool operator==(const Candidate&) const = default;
};
/// The sender wants to coordinate the job, and has enough voters connected: it asks for this vote.
struct RequestVote {
  std::int64_t epoch = 0;
  std::int64_t clock_us = 0;  // as Beat's
  bool operator==(const RequestVote&) const = default;
};
/// The agent is to stop its workers, if it has any, and to join there; "": here, once more.
struct Redirect {
  std::string coordinator;  // HOST:PORT
  std::int64_t epoch = 0;   // the receiver's epoch
  bool operator==(const Redirect&) const = default;
};
/// From now on others vote in the last round that the agent knows: a witness or a spare votes
/// beside its nodes, or does so no longer. Nothing else of the round changes.
struct Reconfigure {
  Configuration round;            // with a greater revision
  bool witnessed = false;         // a witness is among them
  bool leader_is_member = false;  // as StartRound's, for a receiver outside the round
  bool spare_votes = false;       // a spare is among them
  bool operator==(const Reconfigure&) const = default;
};

}  // namespace ddprun
