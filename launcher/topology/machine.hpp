// A machine as plain data: its CPUs, its memory, its GPUs and network cards, and what lies between
// them. machine_files.hpp reads it from the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/cpu_topology.hpp"
#include "base/machine/devices.hpp"

namespace ddprun {

inline constexpr std::size_t kDevicesMax = 256;     // GPUs and network cards together
inline constexpr std::size_t kNumaNodesMax = 1024;  // the kernel's own limit (MAX_NUMNODES)
inline constexpr std::size_t kBridgesMax = 32;      // between a device and its CPU
inline constexpr std::size_t kInterfacesMax = 16;   // a network card has no more

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;       // all that are online
  std::uint64_t bytes = 0;     // the size of its memory; 0: not known
  std::vector<int> distances;  // to all nodes, in their order, 10 is the node itself; may be empty

  bool operator==(const NumaNode&) const = default;
};

/// A GPU or a network card on the PCI bus.
struct Device {
  using Kind = PciDevice::Kind;

  Kind kind = Kind::kGpu;
  std::string name;               // "GPU0", "NIC3": by PCI bus, each kind from 0
  std::string bus_id;             // "0000:07:00.0"
  std::string model;              // its name, or vendor and device: "NVIDIA H100", "15b3:101b"
  std::vector<std::string> path;  // from the host bridge, "pci0000:00", through all bridges; empty:
                                  // not known
  std::optional<int> numa_node;   // nullopt: the firmware does not tell
  std::vector<int> cpus;          // those near it
  std::vector<std::string> interfaces;  // a network card's: "mlx5_0", "ib0"
  bool for_workers = false;             // a GPU of NVIDIA's driver: --numa-binding minds it

  bool operator==(const Device&) const = default;
};

/// How far two devices are, as `nvidia-smi topo -m` calls it; the nearest first.
enum class Way { kSelf, kNvLink, kPix, kPxb, kPhb, kNode, kSystem };

/// What NVIDIA's driver says of two GPUs.
struct GpuLink {
  int nvlinks = 0;               // how many join them, directly or through switches
  std::optional<Way> told = {};  // the way by PCI; nullopt: not told

  bool operator==(const GpuLink&) const = default;
};

/// Two GPUs by their bus ids, the lower one first.
using GpuPair = std::pair<std::string, std::string>;

/// Makes the pair of two bus ids.
GpuPair gpu_pair(const std::string& a, const std::string& b);

struct Machine {
  CpuTopology cpus;             // all that are online
  CpuTopology usable;           // those that this process may run on
  std::vector<NumaNode> nodes;  // by id; where the kernel knows none there is a node 0
  std::vector<Device> devices;  // the GPUs first, then the network cards, each kind by PCI bus
  std::map<GpuPair, GpuLink> gpu_links;  // between GPUs that the driver was asked about
};

/// Sorts the devices and gives them their names.
void name_devices(Machine& machine);

/// How near two devices are, in the words of `nvidia-smi topo -m`.
///
///   X     the device itself
///   NV#   joined by # NVLinks, directly or through NVSwitches
///   PIX   at most one PCIe switch lies between them
///   PXB   several PCIe switches, and no host bridge
///   PHB   a PCIe host bridge, which is in the CPU
///   NODE  two host bridges of one NUMA node
///   SYS   two NUMA nodes
///
/// The meanings are those of its legend and of nvmlGpuTopologyLevel_t:
/// https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
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
