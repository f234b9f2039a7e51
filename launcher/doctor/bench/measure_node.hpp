// Measures the CPUs and the memory of this node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/doctor/bench/measurements.hpp"

namespace ddprun {

/// What this process may use of the node.
struct NodeShare {
  std::optional<double> cpu_quota;  // CPUs that the cgroup grants
  std::int64_t free_bytes = 0;
};

/// Measures for 1 to 2 s, in a process of its own, which gets 20 s. To be called while there is one
/// thread.
NodeSpeeds measure_node(const std::string& node, const NodeShare& share);

/// What tells machines apart: containers and namespaces of one machine have the same; "": unknown.
std::string machine_identity();

}  // namespace ddprun
