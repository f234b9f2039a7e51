// What `ddprun topo` prints: a tree of the machine, and tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/topology/machine.hpp"
#include "launcher/topology/worker_places.hpp"

namespace ddprun {

/// How the texts look. No line is longer than the style's columns, but for a terminal too narrow
/// for a name.
struct TopoStyle {
  bool color = false;
  int columns = 80;
};

/// How near all devices are to each other, in as many blocks beside each other as fit, and what the
/// words mean that stand there. "": there is no device.
std::string nearness_table(const Machine& machine, const TopoStyle& style);

/// Where each device is, which NUMA node and CPUs are near it, and what it is. "": there is none.
std::string device_table(const Machine& machine, const TopoStyle& style);

/// How far NUMA nodes are from each other, by the firmware. "": there is one, or it does not tell.
std::string distance_table(const Machine& machine, const TopoStyle& style);

/// Where workers are put.
std::string worker_table(const std::vector<WorkerPlace>& places, const TopoStyle& style);

/// A NUMA node stands below its socket, unless it is part of several. A device stands below its
/// NUMA node, and below those PCI bridges that part it from another device of that node.
std::string machine_tree(const Machine& machine, const TopoStyle& style);

}  // namespace ddprun
