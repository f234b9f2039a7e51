// The GPUs and network cards of this machine: from the PCI bus, NVIDIA's driver and the device
// files. What is on the bus may be without a driver, and a container may have the files of some
// alone. `root` is "/".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

inline constexpr std::string_view kNvidia = "0x10de";  // the vendor on the PCI bus

struct PciDevice {
  enum class Kind { kGpu, kNic };

  Kind kind = Kind::kGpu;
  std::string bus_id;  // "0000:07:00.0"
  std::string vendor;  // "0x10de"
};

/// The GPUs and network cards on the PCI bus, by bus id. Virtual functions of a card are left out:
/// they are as near as the card itself, which is there, too.
std::vector<PciDevice> pci_devices(const std::filesystem::path& root);

/// Whether a name is one of PCI: "0000:07:00.0" of a device, "pci0000:00" of a host bridge.
bool is_pci_name(std::string_view name);

/// "0000:07:00.0" of the driver's "00000000:07:00.0", in which the domain has 8 digits and letters
/// are large.
std::string plain_bus_id(std::string bus_id);

/// The bus ids of the GPUs that NVIDIA's driver has, in PCI bus order; empty where there is none.
/// See the driver's README, "/proc interface".
std::vector<std::string> driver_gpus(const std::filesystem::path& root);

/// The NUMA node of each of driver_gpus(); 0 where it is not known. CUDA_VISIBLE_DEVICES is not
/// looked at. See https://docs.kernel.org/admin-guide/abi-testing.html
/// (bus/pci/devices/.../numa_node).
std::vector<int> gpu_numa_nodes(const std::filesystem::path& root);

/// Counts the device files of NVIDIA's GPUs (dev/nvidia0, ...), or where there are none AMD's GPUs
/// (nodes with SIMDs in sys/class/kfd).
int count_gpus(const std::filesystem::path& root = "/");

/// Counts those of NVIDIA whose device file this process may open; a container or a cgroup may
/// forbid some. To open one wakes it up, and may take seconds.
int openable_gpus(const std::filesystem::path& root = "/");

}  // namespace ddprun
