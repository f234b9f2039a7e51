// The messages between agents and the coordinator. Each is a struct of a header that is included
// here, and one line of JSON on the wire: an object that has the struct's fields and a "type".
//
// docs/internals/messages.md says who sends what and when. Decoding trusts no peer: a line that
// does not fit is an Error with a sentence, never an exception or a half-filled struct.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/end_messages.hpp"
#include "rendezvous/messages/in_place_messages.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/membership_messages.hpp"
#include "rendezvous/messages/question_messages.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/messages/straggler.hpp"
#include "rendezvous/messages/succession_messages.hpp"

namespace ddprun {

/// The first byte of every agent's connection; that of a TCPStore client is kStoreFirstByte.
inline constexpr char kAgentFirstByte = '{';

using AgentMessage =
    std::variant<Join, Beat, Identify, WorkerFailed, WorkersFinished, WorkersStopped, Preempt,
                 Leave, Progress, Arrivals, Inspected, WorkersEnded, WorkersStarted, WorkersStay,
                 Prepared, Holding, AskStatus, AskDump, Vote, EndAcknowledged, FinalStatus,
                 InviteWitness, Fitness, Debugging, HeldCheckpoints, CheckpointSaid>;

using CoordinatorMessage =
    std::variant<Joined, Refused, Waiting, Spare, Identity, Beat, StartRound, Prepare, StopRound,
                 LeaveAfter, EndJob, Inspect, HangFound, HangOver, StragglerFound, StragglerOver,
                 VerdictFound, Restarted, JobTimes, StatusPart, DumpPart, Candidate, RequestVote,
                 Redirect, Dismiss, Reconfigure, RanksDebugged, CheckpointOrder>;

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

/// Checks the numbers and names of a message, beyond its being well-formed; decode_*() do it, so
/// that the functions behind it need not. Errors: kInvalid, a sentence with the name of what is
/// wrong, its value, the host where that is known, and what was expected.
Result<void> check(const AgentMessage& message);
Result<void> check(const CoordinatorMessage& message);

}  // namespace ddprun
