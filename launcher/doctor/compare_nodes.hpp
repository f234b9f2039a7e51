// What is wrong with nodes of one job beside each other. Pure.
#pragma once

#include <vector>

#include "launcher/doctor/finding.hpp"
#include "launcher/doctor/reading.hpp"

namespace ddprun {

/// The node of a finding that is about all nodes together. A report for people calls it otherwise.
inline constexpr char kAllNodes[] = "all nodes";

/// Versions, script, GPUs, clocks and folders: a finding for each node that differs from most
/// others, or one for all where they are the same.
Findings compare_nodes(const std::vector<NodeReading>& nodes);

/// Whether each node reaches each other one, with short and with long messages, also at the
/// addresses that Gloo and NCCL will take. A node that most others have trouble with is named, and
/// else each node that has trouble with another one.
Findings check_links(const std::vector<NodeReading>& nodes);

/// Whether the nodes know each other's names, and the same address by each.
Findings check_peer_names(const std::vector<NodeReading>& nodes);

}  // namespace ddprun
