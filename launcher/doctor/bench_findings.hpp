// What `ddprun doctor --bench` concludes from its measurements: nodes, CPUs and links that are much
// slower than the others. Pure: measurements go in, findings come out.
//
// There is no table of how fast things have to be. What is usual is the median of all, and what is
// far below that is named. A healthy machine that is a little busy must not be, so the limits are
// wide, and the launcher measures again before it reports anything.
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/finding.hpp"

namespace ddprun {

/// CPUs and memory, each node in itself and beside the others.
Findings check_speeds(const std::vector<NodeSpeeds>& nodes);

/// Links. A node that is slow on most of its links is named, and not each of these links.
Findings check_link_speeds(const Measurements& measurements);

/// All of them.
Findings check_measurements(const Measurements& measurements);

/// Returns the nodes, by their place in `nodes`, that check_speeds() would complain of.
std::vector<std::size_t> doubtful_nodes(const std::vector<NodeSpeeds>& nodes);

/// Returns the links, by their place, that are slow, whichever node is to blame for it.
std::vector<std::size_t> doubtful_links(const std::vector<LinkSpeed>& links);

}  // namespace ddprun
