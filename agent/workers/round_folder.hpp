// The folder of a round: its workers' logs and error files go there.
#pragma once

#include <memory>

#include "agent/output/log_writer.hpp"
#include "agent/workers/worker_plan.hpp"

namespace ddprun {

/// Makes it, if there is a run directory. If a directory cannot be made, opening a file in it says
/// so. Rounds of a coordinator that was started again have the numbers of earlier ones, so a
/// worker's error file may be there already: it is removed. `files` does that; null: it is done
/// here.
void make_round_folder(const std::shared_ptr<LogWriter>& files, const NodeFacts& node,
                       const StartRound& round, int workers);

}  // namespace ddprun
