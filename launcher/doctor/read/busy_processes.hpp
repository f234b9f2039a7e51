// Which processes work on the CPUs that a job would have, by two looks at the times of all
// processes. Pure.
//
// The doctor's own questions, and logins, take CPUs, too. They are young, and what is young does
// not count.
#pragma once

#include <chrono>
#include <vector>

#include "base/process/process_facts.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// All processes at one moment.
struct ProcessesLook {
  std::chrono::milliseconds at{0};  // since the machine was started
  std::vector<ProcessFacts> processes;
};

/// Returns the processes that have used a tenth of a CPU or more from one look to the next one, the
/// busiest first, but for those that were younger than 2 s at the first look, and those that were
/// last on a CPU that is not in `usable`. No more than a few of them are named.
std::vector<BusyProcess> busy_processes(const ProcessesLook& before, const ProcessesLook& after,
                                        const std::vector<int>& usable);

}  // namespace ddprun
