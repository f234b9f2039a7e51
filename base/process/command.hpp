// What a process that is to be started runs, and where.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// Where a process runs: see agent/placement, which chooses it.
struct Placement {
  std::vector<int> cpus;          // ascending, never empty
  std::vector<int> memory_nodes;  // the NUMA nodes of these CPUs, ascending

  bool operator==(const Placement&) const = default;
};

/// One process to start.
struct Command {
  std::string program;                   // a path: PATH is not searched
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // "NAME=value", all of it
  Placement placement;                   // empty lists: wherever the system likes
};

}  // namespace ddprun
