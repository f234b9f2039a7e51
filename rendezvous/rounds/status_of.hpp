// The state of a job, as a coordinator reports it to viewers. Pure; nothing here decides anything.
#pragma once

#include <map>
#include <optional>

#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/verdict.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/rounds/rounds.hpp"
#include "rendezvous/watch/progress_table.hpp"
#include "rendezvous/watch/straggler_watch.hpp"

namespace ddprun {

/// That state in the words of a job's status.
JobStatus::State state_of(Rounds::State state);

NodeStatus status_of(const Roster::Node& node, bool round_runs, TimePoint now);

/// Adds the nodes by group rank, with what they tell, then those that have none yet; and the host
/// of the witness that votes, "" for none.
void tell_nodes(JobStatus& status, const Roster& nodes, const std::map<NodeId, NodeNews>& news,
                bool round_runs, const NodeId& extra_voter, TimePoint now);

/// Adds the ranks of the nodes that are there. A node has ranks when it is in the round that runs
/// or stops. Those of a lost one are others' in the next round, unless that one is still
/// `stopping`.
void tell_ranks(JobStatus& status, bool stopping);

/// Adds what the ranks have reported of themselves.
void tell_progress(JobStatus& status, const ProgressTable& table, TimePoint now);

/// Marks the ranks that hang, and the one that has failed.
void mark_troubles(JobStatus& status, const std::optional<HangReport>& hang,
                   const std::optional<EndJob>& end);

/// Adds which ranks hold up the others, and how late each comes.
void tell_lateness(JobStatus& status, const StragglerWatch& watch, const Roster& nodes);

/// Fills in its node and its sentence: "rank 5 (h2) makes the others wait 12 % of the time".
Straggler described(Straggler found, const Roster& nodes);

/// "node h2 lost: connection closed"; with its ranks where several nodes share the host.
std::string loss_text(const Roster::Node& node, const Roster& nodes, const std::string& reason);

/// What the workers do, where no round runs: why nothing can be said of them. `counters` are of the
/// last round.
JobDump dump_without_workers(const Rounds& rounds, const JobCounters& counters, TimePoint now);

/// Why the job has ended, in words.
std::string reason_of(const EndJob& end);

}  // namespace ddprun
