// A node's side of `ddprun doctor --hosts`, with and without --bench: what ssh starts there.
#pragma once

#include <optional>
#include <string>

#include "launcher/doctor/bench/link_ends.hpp"
#include "launcher/doctor/bench/measure_link.hpp"
#include "launcher/doctor/bench/measure_node.hpp"
#include "launcher/doctor/doctor_messages.hpp"

namespace ddprun {

/// Lets other nodes measure the way to this one, as long as `server` lives.
BenchReady prepare_bench(const std::string& token, std::optional<ChildServer>& server);

/// Measures CPUs and memory, as far as the reading says that this process may use them. To be
/// called while there is one thread.
NodeSpeeds measure_read_node(const NodeReading& reading);

/// Measures the node and shows on a terminal that it does so. What looks slow is measured once
/// more, and the better figure counts.
NodeSpeeds measure_until_sure(const NodeReading& reading);

/// Answers the questions of doctor_messages.hpp, from standard input to standard output, until the
/// launcher has gone. Returns the exit code. To be called while there is one thread.
int examine_for_launcher();

}  // namespace ddprun
