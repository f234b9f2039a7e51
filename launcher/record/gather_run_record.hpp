// Gathers the facts of a run from files and names: no program is started, and Python is not asked.
#pragma once

#include <string>
#include <vector>

#include "agent/spec/launch_spec.hpp"
#include "launcher/record/run_record.hpp"

namespace ddprun {

/// Returns what this machine tells of the run of `spec` whose workers inherit `environment`
/// ("NAME=value"). Hosts, the world's size and times are left to the caller. What cannot be read is
/// not known.
RunRecord gather_run_record(const LaunchSpec& spec, const std::vector<std::string>& environment);

}  // namespace ddprun
