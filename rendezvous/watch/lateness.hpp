// How late the members of a group come to its collectives, by the times at which each has entered
// them. Pure.
//
// A collective ends for nobody before all have entered it, so the last one holds up all others. One
// that is late for a step's first collective is late for all that its program enters before it
// waits for any of them, as DDP does with a step's buckets. So these count once: collectives are
// one burst as long as one is entered before all have reached those before it, and a step is the
// bursts between two longer pauses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ddprun {

/// When a rank has entered collectives `first`, `first` + 1, ...: microseconds of a common clock.
struct ArrivalTimes {
  std::int64_t first = 0;
  std::vector<std::int64_t> at_us;
};

/// How late one rank was, over all steps that were looked at.
struct Lateness {
  std::int64_t late_us = 0;    // later than half of the group, in the step's worst collective
  std::int64_t waited_us = 0;  // for the last one
  std::int64_t cost_us = 0;    // how much earlier the others could have gone on without it
  int times_late = 0;          // steps for which it came clearly late
};

struct GroupLateness {
  int steps = 0;
  std::int64_t first = 0, last = 0;  // the numbers of the collectives of these steps
  std::int64_t elapsed_us = 0;
  std::map<int, Lateness> ranks;
};

/// A rank is clearly late from this part of a step on.
inline constexpr double kClearlyLate = 0.02;

/// Looks at the last steps that all ranks have in common: as many as fit into `time_us`, and
/// `steps_min` at least. nullopt: there are fewer, or fewer than two ranks.
std::optional<GroupLateness> measure_lateness(const std::map<int, ArrivalTimes>& arrivals,
                                              int steps_min, std::int64_t time_us);

}  // namespace ddprun
