// The tree that `ddprun topo` draws: sockets, NUMA nodes, PCI bridges, devices. Pure.
#pragma once

#include <string>

#include "launcher/topology/machine.hpp"
#include "launcher/topology/machine_tables.hpp"

namespace ddprun {

/// A NUMA node stands below its socket, unless it is part of several. A device stands below its
/// NUMA node, and below those PCI bridges that part it from another device of that node.
std::string machine_tree(const Machine& machine, const TopoStyle& style);

}  // namespace ddprun
