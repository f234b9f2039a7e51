// What is wrong with nodes, by what was read and measured on them. Pure: readings go in, findings
// come out.
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/doctor/bench/measurements.hpp"
#include "launcher/doctor/check/finding.hpp"
#include "launcher/doctor/read/reading.hpp"

namespace ddprun {

// A healthy machine has no warning. So a limit is one that a job would really meet, and what cannot
// be read is not judged.

/// Open files, processes, and memory that may be locked for RDMA.
Findings check_limits(const NodeReading& node);

/// Memory that is left, by the machine and by the cgroup, and /dev/shm.
Findings check_memory(const NodeReading& node);

/// Memory for what --checkpoints keeps there.
Findings check_checkpoints(const NodeReading& node);

/// CPUs that the affinity mask and the cgroup leave.
Findings check_cpus(const NodeReading& node);

/// Folders: whether they can be written, how fast, and what is free there.
Findings check_folders(const NodeReading& node);

/// Names of hosts, both ways, and the name servers. `alone`: no other node has to find this one.
Findings check_names(const NodeReading& node, bool alone);

/// Python, torch, the CUDA that torch was built with, and the script.
Findings check_python(const NodeReading& node);

/// GPUs: the driver, errors of their memory, throttling, other users, NVLinks.
Findings check_gpus(const NodeReading& node);

/// Network interfaces as NCCL and Gloo choose them, and InfiniBand. `alone` as above.
Findings check_network(const NodeReading& node, bool alone);

/// All of them.
Findings check_node(const NodeReading& node, bool alone);

// What is wrong with nodes of one job beside each other.

/// Versions, script, GPUs, clocks and folders: a finding for each node that differs from most
/// others, or one for all where they are the same.
Findings compare_nodes(const std::vector<NodeReading>& nodes);

/// Whether each node reaches each other one, with short and with long messages, also at the
/// addresses that Gloo and NCCL will take. A node that most others have trouble with is named, and
/// else each node that has trouble with another one.
Findings check_links(const std::vector<NodeReading>& nodes);

/// Whether the nodes know each other's names, and the same address by each.
Findings check_peer_names(const std::vector<NodeReading>& nodes);

// What `ddprun doctor --bench` concludes from its measurements: nodes, CPUs and links that are much
// slower than the others.
//
// There is no table of how fast things have to be. What is usual is the median of all, and what is
// far below that is named. A healthy machine that is a little busy must not be, so the limits are
// wide, and the launcher measures again before it reports anything.

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
