// How near two devices are, in the words of `nvidia-smi topo -m`. Pure.
//
//   X     the device itself
//   NV#   joined by # NVLinks, directly or through NVSwitches
//   PIX   at most one PCIe switch lies between them
//   PXB   several PCIe switches, and no host bridge
//   PHB   a PCIe host bridge, which is in the CPU
//   NODE  two host bridges of one NUMA node
//   SYS   two NUMA nodes
//
// The meanings are those of its legend and of nvmlGpuTopologyLevel_t:
// https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
#pragma once

#include <string>

#include "launcher/topology/machine.hpp"

namespace ddprun {

struct Nearness {
  Way way = Way::kSelf;
  int nvlinks = 0;  // where the way is by NVLink

  bool operator==(const Nearness&) const = default;
};

/// "X", "NV12", "PIX" and so on.
std::string to_string(const Nearness& nearness);

/// What to_string() of a way by PCI says; nullopt for another word.
std::optional<Way> parse_way(const std::string& word);

/// How near two devices are. `first` and `second` are places in machine.devices. Where it is not
/// known they count as far (SYS), and on a machine of one NUMA node as NODE.
Nearness nearness(const Machine& machine, std::size_t first, std::size_t second);

}  // namespace ddprun
