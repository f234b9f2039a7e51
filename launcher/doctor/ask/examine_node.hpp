// A node's side of `ddprun doctor --hosts`, with and without --bench: what ssh starts there.
#pragma once

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

/// Measures CPUs and memory, as far as the reading says that this process may use them, and shows
/// on a terminal that it does so. What looks slow is measured once more, and the better figure
/// counts. To be called while there is one thread.
NodeSpeeds measure_until_sure(const NodeReading& reading);

/// Answers the questions of doctor_messages.hpp, from standard input to standard output, until the
/// launcher has gone. Returns the exit code. To be called while there is one thread.
int examine_for_launcher();

}  // namespace ddprun
