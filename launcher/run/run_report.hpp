// Tells the user, and a launcher above, how a run has ended.
#pragma once

#include <string>

#include "agent/group_machine.hpp"
#include "agent/output/console.hpp"
#include "base/environment.hpp"
#include "base/failure.hpp"

namespace ddprun {

/// Writes how the agent ended: the report of the job's failure with the other failures of this node
/// beside it, or a message. `title` is the script as the user named it.
void report_end(const AgentEnd& end, const std::string& title, const RoundOutcome& outcome,
                Console& err);

/// Copies the record of the first failure to where a launcher above us looks for it
/// (TORCHELASTIC_ERROR_FILE), as when a ddprun runs a ddprun.
void hand_up_error_file(const WorkerFailure& failure, const EnvironmentLookup& environment);

}  // namespace ddprun
