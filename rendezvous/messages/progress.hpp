// RankProgress: how far a worker is, as its agent knows without asking it to do anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

/// A message has at most this many ranks, and a rank as many groups as the next: those that changed
/// last.
inline constexpr std::size_t kProgressRanksMax = 64;
inline constexpr std::size_t kProgressGroupsMax = 8;

/// torch's name of the group of all ranks.
inline constexpr char kGroupOfAllRanks[] = "0";

/// How far a worker is in one of its process groups, as torch's flight recorder counts.
struct GroupProgress {
  std::string group;           // its name, which is the same on all ranks
  std::int64_t enqueued = 0;   // the number of the last collective that it has entered
  std::int64_t completed = 0;  // the number of the last one that is done
  bool operator==(const GroupProgress&) const = default;
};

struct RankProgress {
  int rank = 0;
  bool ended = false;    // with code 0
  bool stayed = false;   // its process is older than the round
  bool watched = false;  // torch's worker server answers in it, so `groups` and `waits_in` count
  std::vector<GroupProgress> groups;
  std::string waits_in;  // "init_process_group" or an operation of the store; "": in neither
  /// What its processes have done with the CPU.
  bool idle = false;  // nothing for the hang timeout, or since the above is true: they sleep
  bool busy = false;  // used it for 10 s since the above is true, which no slow machine explains
  std::int64_t still_ms = 0;     // time since this was true for the first time
  std::int64_t look_ms = 0;      // progress is seen within that time
  std::int64_t paused_ms = 0;    // how long the same had been seen before that
  std::int64_t step = -1;        // that is done; -1: it has not told
  std::int64_t first_step = -1;  // the worker's first one in the round; -1: it has not told
  std::int64_t first_ms = -1;    // time since that one was done
  std::int64_t steps = 0;        // steps of the whole training; 0: it has not told
  bool has_loss = false;         // it reported a loss; 0 if that is no finite number
  double loss = 0;
  double samples_per_second = 0;  // 0: it has not told
  std::int64_t left_s = -1;       // until the training ends, as it says; -1: it does not
  bool operator==(const RankProgress&) const = default;
};

}  // namespace ddprun
