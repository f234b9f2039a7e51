// Decides which CPUs and which memory each worker of this node gets.
//
// Pure: it knows the machine only as a CpuTopology. The code that starts the workers binds them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "base/process/command.hpp"
#include "base/result.hpp"

namespace ddprun {

/// How close a worker is kept to its NUMA node.
enum class NumaBinding {
  kNode,         // all CPUs of the node, shared with the node's other workers
  kSocket,       // all CPUs of the packages that the node is part of
  kExclusive,    // physical cores of the node that no other worker has
  kCoreComplex,  // CPUs of the node that share one last-level cache
};

/// The one that users call "node", "socket", "exclusive" or "core-complex"; nullopt: none.
std::optional<NumaBinding> numa_binding_named(std::string_view name);

/// The NUMA node of each worker: worker i uses GPU i modulo the GPUs, and `gpu_nodes[j]` is the
/// node of GPU j. Workers without a GPU, or whose GPU's node has no allowed CPU, are spread over
/// the nodes that have: with 8 workers and 2 nodes 0 to 3 are on the first, 4 to 7 on the second.
std::vector<int> nodes_of_workers(const CpuTopology& topology, const std::vector<int>& gpu_nodes,
                                  int workers);

/// The placement of each worker, by local rank; `worker_nodes[local_rank]` is its NUMA node.
///
/// kExclusive divides a node's cores evenly, all hyperthreads of a core together and what is left
/// over to the lowest ranks; kInvalid when a node has fewer cores than workers. kCoreComplex takes
/// the groups with most CPUs first and starts over when there are more workers than groups.
/// kInvalid for a node without allowed CPUs, which nodes_of_workers() never names.
Result<std::vector<Placement>> place_workers(NumaBinding binding, const CpuTopology& topology,
                                             const std::vector<int>& worker_nodes);

}  // namespace ddprun
