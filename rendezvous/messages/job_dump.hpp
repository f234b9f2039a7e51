// JobDump: what all workers of a job do at one moment (`ddprun dump`). It travels as JSON from the
// coordinator to the agent that has asked, in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rendezvous/messages/hang_report.hpp"

namespace ddprun {

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
  std::string missing_ranks;  // "": nobody is missing
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

}  // namespace ddprun
