// What a worker's torch tells of its process groups: the answers of its worker server's handlers
// fr_trace_json, dump_nccl_trace_json and wait_counter_values, read without trust. Pure.
//
// The formats are those of torch/csrc/distributed/c10d/FlightRecorderDetail.hpp and
// c10/util/WaitCounter.h in torch 2.9 to 2.15.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/messages/progress.hpp"
#include "rendezvous/messages/straggler.hpp"

namespace ddprun {

/// How torch calls a process group: by a number of this worker's, and by a name of all ranks.
struct GroupName {
  std::string name;         // "0"
  std::string description;  // "default_pg"
  bool operator==(const GroupName&) const = default;
};
using GroupNames = std::map<std::string, GroupName>;  // by the worker's own number

/// How far the worker is in each group that has done anything, by the recorder's status. Names that
/// the trace tells are added to `names`, which is kept from one trace to the next: the oldest
/// entries are forgotten. nullopt: this is no trace.
std::optional<std::vector<GroupProgress>> read_group_progress(std::string_view trace,
                                                              GroupNames& names);

/// A collective that was entered and is not done.
struct PendingCollective {
  std::string operation;  // "gloo:all_reduce"
  GroupName group;
  std::int64_t sequence = 0;
  std::string shapes;  // "[[10]] Float"
  bool operator==(const PendingCollective&) const = default;
};

/// The oldest such entry among the last ones of the trace; nullopt: there is none.
std::optional<PendingCollective> read_pending(std::string_view trace);

/// When the worker has entered the last collectives of each of its groups, in microseconds since
/// 1970, by the last entries of the trace. None where a message to or from one other rank is among
/// these: in a pipeline each stage is late because of the stage before it.
std::vector<GroupArrivals> read_arrivals(std::string_view trace);

/// In which operation of the store the worker waits, by the counters: "init_process_group", "wait",
/// "get"; "" when in none.
std::string read_store_wait(std::string_view counters);

}  // namespace ddprun
