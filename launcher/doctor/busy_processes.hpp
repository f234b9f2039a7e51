// Which processes work on the CPUs that a job would have, by two looks at the times of all
// processes. Pure.
//
// The doctor's own questions, and logins, take CPUs, too. They are young, and what is young does
// not count.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// What /proc/PID/stat says of a process (proc(5)). Times are in ticks of the clock.
struct ProcessTimes {
  std::int64_t pid = 0;
  std::string name;
  std::int64_t used = 0;     // on CPUs, by all its threads
  std::int64_t started = 0;  // since the machine was
  int cpu = 0;               // the one on which it was last
};

/// Reads the text of /proc/PID/stat. nullopt: it is none.
std::optional<ProcessTimes> parse_process_times(std::string_view text);

/// All processes at one time.
struct ProcessesLook {
  std::int64_t at = 0;  // ticks since the machine was started
  std::vector<ProcessTimes> processes;
};

/// Returns the processes that have used a tenth of a CPU or more from one look to the next one, the
/// busiest first, but for those that were younger than 2 s at the first look, and those that were
/// last on a CPU that is not in `usable`. No more than a few of them are named.
std::vector<BusyProcess> busy_processes(const ProcessesLook& before, const ProcessesLook& after,
                                        const std::vector<int>& usable, std::int64_t ticks_per_s);

}  // namespace ddprun
