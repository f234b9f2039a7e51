// What a coordinator reports to people and programs that look at a job: its status, and a dump of
// what all workers do. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_load.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/kept_checkpoints.hpp"
#include "rendezvous/messages/straggler.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

// JobDump: what all workers of a job do at one moment (`ddprun dump`). It travels as JSON from the
// coordinator to the agent that has asked, in pieces.

// A dump shows at most this many of each.
inline constexpr std::size_t kDumpStacksMax = 512;
inline constexpr std::size_t kDumpWaitsMax = 64;
inline constexpr std::size_t kDumpUnheardMax = 256;
inline constexpr std::size_t kDumpBytesMax = 2 * 1024 * 1024;  // the length of its JSON

/// An operation in which workers wait, and the ranks that have not reached it.
struct DumpWait {
  std::string operation;      // "gloo:all_reduce"
  std::string group;          // its name and description: "0 (default_pg)"; "": it has none
  std::int64_t sequence = 0;  // its number in the group; 0: unknown
  std::string waiting_ranks;  // "0,2-3"
  std::string missing_ranks;  // "": none is missing
  bool operator==(const DumpWait&) const = default;
};

/// Ranks of a node of which nothing is known, and why.
struct DumpUnheard {
  std::string node;  // its host
  std::string ranks;
  std::string reason;  // "has not answered in time"
  bool operator==(const DumpUnheard&) const = default;
};

struct JobDump {
  std::string state;  // "running", "gathering", "stopping" or "ended"
  std::string why;    // why no round runs; "": one runs
  int round = 0;      // the last one; 0: there was none
  int attempt = 0;
  int world_size = 0;              // the round's that runs; 0: none does
  int nodes = 0;                   // in it
  std::int64_t took_ms = 0;        // from the question to the last answer
  std::optional<HangReport> hang;  // the hang that was reported and lasts, without its stacks
  std::vector<DumpWait> waits;     // those with missing ranks first
  std::vector<StackGroup> stacks;  // missing ranks first, then few ranks
  int stacks_left_out = 0;
  std::vector<DumpUnheard> unheard;
  bool operator==(const JobDump&) const = default;
};

/// Returns it as JSON, an object in one line of at most kDumpBytesMax bytes of ASCII. Texts are cut
/// as in HangReport; of too many stacks the last ones are left out.
std::string to_json(const JobDump& dump);

/// Reads what to_json() has written. Fields that are not known are passed over, and one that is
/// missing is an error. Errors: kInvalid, with a sentence.
Result<JobDump> parse_job_dump(std::string_view json);

// JobStatus: what a coordinator knows of a job at one moment, for people and programs that look at
// it. It travels as JSON: to `ddprun status`, to the status page and to readers of /status.json.
// docs/live.md describes the fields.

// A status shows at most this many of each. Of ranks, those that stand out come first.
inline constexpr std::size_t kStatusNodesMax = 2048;
inline constexpr std::size_t kStatusRanksMax = 4096;
inline constexpr std::size_t kStatusRoundsMax = 64;
inline constexpr std::size_t kStatusPointsMax = 240;
inline constexpr std::size_t kStatusBytesMax = 2 * 1024 * 1024;  // the length of its JSON

/// What a node tells of itself.
struct NodeNews {
  std::optional<NodeLoad> load;
  std::optional<KeptCheckpoints> checkpoints;
};

struct NodeStatus {
  enum class State { kReady, kSpare, kStarting, kWaiting, kRunning, kFinished, kStopping, kLost };
  std::string host;
  /// kStarting: its workers start beside the round. kWaiting: for a rank that another node may
  /// still have.
  State state = State::kReady;
  int group_rank = -1;  // in the last round that it was part of; -1: none
  int first_rank = -1;  // its workers' in that round
  int workers = 0;
  std::int64_t silent_ms = 0;  // since it was heard; kLost: since it was lost
  /// kLost: why; else why it takes part only while others are too few, that it is a spare that
  /// votes, or "".
  std::string reason;
  std::optional<NodeLoad> load = {};                // nullopt: it is not known now
  std::optional<KeptCheckpoints> checkpoints = {};  // nullopt: the program keeps its own
  bool operator==(const NodeStatus&) const = default;
};

struct RankStatus {
  enum class State { kRunning, kWaiting, kMissing, kFinished, kStopping, kFailed, kLost };
  int rank = 0;
  State state = State::kRunning;  // kWaiting, kMissing: the job hangs, and others wait for kMissing
  std::int64_t step = -1;         // that is done; -1: it has not told
  std::int64_t steps = 0;         // steps of the whole training; 0: it has not told
  std::int64_t collectives = -1;  // done in the default group; -1: not known
  std::int64_t lag = 0;           // steps, else collectives, behind the fastest rank
  bool has_loss = false;
  double loss = 0;
  double samples_per_second = 0;  // 0: it has not told
  double late_percent = -1;       // others wait for it in that part of the time; -1: not known
  std::int64_t still_ms = 0;      // time without progress
  std::string waits_in;           // "init_process_group", an operation of the store; "": neither
  bool operator==(const RankStatus&) const = default;
};

/// One entry of the timeline.
struct RoundStatus {
  int round = 0;
  int attempt = 0;
  int nodes = 0;
  int world_size = 0;
  std::int64_t began_unix_ms = 0;
  std::int64_t ended_unix_ms = 0;  // 0: it goes on
  std::string reason;              // why it was stopped; "": it was not
  bool in_place = false;           // workers of it stay, parked, for the next one
  bool operator==(const RoundStatus&) const = default;
};

/// One point of the curves.
struct PointStatus {
  std::int64_t unix_ms = 0;
  std::int64_t step = -1;
  bool has_loss = false;
  double loss = 0;
  double samples_per_second = 0;
  bool operator==(const PointStatus&) const = default;
};

/// What is known of all ranks together: what summarize() makes of all that they tell, which of them
/// holds up the others, and which are debugged.
struct JobSummary {
  std::string word;  // word_for() the state
  std::int64_t step = -1;
  std::int64_t steps = 0;
  double percent = -1;       // -1: not known
  std::int64_t left_s = -1;  // until the training ends; -1: not known
  bool has_loss = false;
  double loss = 0;
  double samples_per_second = 0;
  double steps_per_second = 0;
  std::int64_t restarts_in_ms = 0;     // the rest of a pause before a restart (--restart-delay)
  std::optional<Straggler> straggler;  // nullopt: no rank holds up the others
  std::vector<DebuggedRank> debugged;  // ranks that are debugged, or wait for a debugger
  int ranks_left_out = 0;              // as there are more than kStatusRanksMax
  bool operator==(const JobSummary&) const = default;
};

struct JobStatus {
  enum class State { kGathering, kRunning, kStopping, kEnded };
  std::string run_id;
  std::string title;  // the script; "": the sender does not know it
  State state = State::kGathering;
  JobOutcome outcome = JobOutcome::kRunning;  // how it ended
  std::string why;  // why it gathers, stops or ended: "rank 1 exited with code 3"
  int round = 0;    // the last one; 0: none was sealed
  int attempt = 0;
  int restarts_left = 0;
  int nodes_min = 1;
  int nodes_max = 1;
  std::string witness;  // the host of one that votes in the round, as all know; "": none does
  std::int64_t now_unix_ms = 0;  // when this was sent
  std::int64_t began_unix_ms = 0;

  JobSummary summary;

  std::vector<NodeStatus> nodes;     // by group rank, those that were lost last
  std::vector<RankStatus> ranks;     // by rank, unless some are left out
  std::vector<RoundStatus> rounds;   // the last ones, oldest first
  std::vector<PointStatus> history;  // thinned out over the whole time, oldest first
  std::optional<HangReport> hang;    // nullopt: it does not hang
  std::optional<Verdict> verdict;    // why the job failed
  bool operator==(const JobStatus&) const = default;
};

/// Fills in what follows from `ranks` and `history`: the lag of each rank, the step of the slowest
/// rank that tells one, the mean loss, the sum of samples per second, steps per second, progress
/// and the time that is left. Then, of too many ranks, leaves out those that stand out least.
void summarize(JobStatus& status);

/// The one word for how the job is, wherever it is shown: "hangs", of a job that is over how it
/// ended, else the name of its state.
std::string_view word_for(const JobStatus& status);

/// Returns it as JSON, an object in one line of at most kStatusBytesMax bytes of ASCII. Texts are
/// cut, lists are, too.
std::string to_json(const JobStatus& status);

/// Reads what to_json() has written. Fields that are not known are passed over, and one that is
/// missing is an error. Errors: kInvalid.
Result<JobStatus> parse_job_status(std::string_view json);

/// Returns the name of a state, as JSON has it: "running".
std::string_view name_of(JobStatus::State state);
std::string_view name_of(NodeStatus::State state);
std::string_view name_of(RankStatus::State state);

}  // namespace ddprun
