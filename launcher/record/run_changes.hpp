// What differs between two runs of a script. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/reports/changes.hpp"
#include "launcher/record/run_record.hpp"

namespace ddprun {

/// What differs, with what a user has most likely changed first. What one of the two does not know
/// is not compared. Of more than kChangesMax changes the last ones are left out.
std::vector<Change> changes_between(const RunRecord& before, const RunRecord& now);

/// Adds the time of the good run to what differs. Both are compared as files have them.
SinceGoodRun since_good_run(const RunRecord& good, const RunRecord& now);

}  // namespace ddprun
