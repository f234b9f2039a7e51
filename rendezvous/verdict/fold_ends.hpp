// fold_ends() says the same of many workers once. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// Whether a report has one entry for two ends.
bool are_alike(const WorkerEnd& some, const WorkerEnd& other);

/// Ends of which the same is to be said become one, which has the times of the first. Those that
/// may be the cause come first, and of these the earliest. At most `most` of them.
std::vector<WorkerEnd> fold_ends(std::vector<WorkerEnd> ends, std::size_t most = kWorkerEndsMax);

}  // namespace ddprun
