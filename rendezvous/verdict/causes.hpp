// What a verdict tells of the end of a worker or a node, or of a hang, and in which sentences.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// "train.py:88", from a path; "" without one.
std::string place_text(const Fault& fault);

/// "KeyError at train.py:88 in load_batch: 'x'"; "" where its type is not known.
std::string fault_text(const Fault& fault);

/// One line: "rank 1 on h2 raised KeyError at train.py:88 in load_batch: 'x'". `says` is what is
/// known besides, as its last line.
std::string sentence_of(const Cause& cause, const std::string& says);

/// "failed 3 times at train.py:88 with the same KeyError, no step gained"; `gained` is how many
/// steps the last attempt got further than the first one, -1 when that is unknown.
std::string history_text(int times, const Cause& cause, std::int64_t gained);

/// Returns a text that tells one root from another: what failed and where, without ranks, times,
/// nodes and whatever else differs from one attempt to the next.
std::string fingerprint_of(const WorkerEnd& end);

/// Returns a hang as the end of the missing ranks, else of all that wait. The end has no times.
WorkerEnd end_of(const HangReport& hang);

/// Returns the end as a cause, on a node of that name.
Cause cause_of(const WorkerEnd& end, const std::string& node);

/// Whether a report has one entry for two ends.
bool are_alike(const WorkerEnd& some, const WorkerEnd& other);

/// Ends of which the same is to be said become one, which has the times of the first. Those that
/// may be the cause come first, and of these the earliest. At most `most` of them.
std::vector<WorkerEnd> fold_ends(std::vector<WorkerEnd> ends, std::size_t most = kWorkerEndsMax);

}  // namespace ddprun
