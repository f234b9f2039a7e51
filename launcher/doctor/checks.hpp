// What is wrong with a node, by what was read on it. Pure: a reading goes in, findings come out.
//
// A healthy machine has no warning. So a limit is one that a job would really meet, and what cannot
// be read is not judged.
#pragma once

#include "launcher/doctor/finding.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// Open files, processes, and memory that may be locked for RDMA.
Findings check_limits(const NodeReading& node);

/// Memory that is left, by the machine and by the cgroup, and /dev/shm.
Findings check_memory(const NodeReading& node);

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

}  // namespace ddprun
