// fold_ends() says the same of many workers once. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rendezvous/wire/worker_end.hpp"

namespace ddprun {

/// What tells one root from another: what failed and where, without ranks, times, nodes and
/// whatever else differs from one attempt to the next. The same for the same root.
std::string fingerprint_of(const WorkerEnd& end);

/// Whether a report has one entry for two ends.
bool are_alike(const WorkerEnd& some, const WorkerEnd& other);

/// Ends of which the same is to be said become one, which has the times of the first. Those that
/// may be the cause come first, and of these the earliest. At most `most` of them.
std::vector<WorkerEnd> fold_ends(std::vector<WorkerEnd> ends, std::size_t most = kWorkerEndsMax);

}  // namespace ddprun
