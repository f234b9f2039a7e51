// Causes: the end of a worker or a node, or a hang, as a verdict tells of it. Pure.
#pragma once

#include <string>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// Returns a text that tells one root from another: what failed and where, without ranks, times,
/// nodes and whatever else differs from one attempt to the next.
std::string fingerprint_of(const WorkerEnd& end);

/// Returns a hang as the end of the missing ranks, else of all that wait. The end has no times.
WorkerEnd end_of(const HangReport& hang);

/// Returns the end as a cause, on a node of that name.
Cause cause_of(const WorkerEnd& end, const std::string& node);

}  // namespace ddprun
