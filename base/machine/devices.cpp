#include "base/machine/devices.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/descriptor.hpp"
#include "base/machine/sysfs_files.hpp"
#include "base/system/whole_file.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAmd = "0x1002", kIntel = "0x8086";

/// What a PCI device is: https://pcisig.com, "PCI Code and ID Assignment", base classes 02, 03 and
/// 12. A display adapter of another vendor is the screen of a server's management controller, and
/// one of Intel's (0x0300) is in the CPU.
std::optional<PciDevice::Kind> kind_of(const std::string& type, const std::string& vendor) {
  if (type.starts_with("0x02")) return PciDevice::Kind::kNic;
  const bool screen = type.starts_with("0x0300");
  const bool computes =
      type.starts_with("0x0302") || type.starts_with("0x0380") || type.starts_with("0x1200");
  const bool makes_gpus = vendor == kNvidia || vendor == kAmd;
  if (makes_gpus && (screen || computes)) return PciDevice::Kind::kGpu;
  if (vendor == kIntel && type.starts_with("0x0380")) return PciDevice::Kind::kGpu;
  return std::nullopt;
}

std::vector<fs::path> nvidia_device_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const std::string& name : names_in(root / "dev"))
    if (number_after("nvidia", name)) files.push_back(root / "dev" / name);
  return files;
}

/// CPUs are nodes of the same list and have no SIMDs
/// (https://docs.kernel.org/gpu/amdgpu/driver-core.html).
int amd_gpus(const fs::path& root) {
  const fs::path nodes = root / "sys/class/kfd/kfd/topology/nodes";
  return static_cast<int>(std::ranges::count_if(names_in(nodes), [&](const std::string& node) {
    return number_behind("simd_count", text_if_any(nodes / node / "properties")).value_or(0) > 0;
  }));
}

}  // namespace

std::vector<PciDevice> pci_devices(const fs::path& root) {
  const fs::path folder = root / "sys/bus/pci/devices";
  std::vector<PciDevice> devices;
  for (const std::string& name : names_in(folder)) {
    std::string vendor = line_of(folder / name / "vendor");
    const auto kind = kind_of(line_of(folder / name / "class"), vendor);
    if (kind && is_pci_name(name) && !is_there(folder / name / "physfn"))
      devices.push_back({*kind, name, std::move(vendor)});
  }
  return devices;
}

bool is_pci_name(std::string_view name) {
  if (name.starts_with("pci")) name.remove_prefix(3);
  const bool spelled = std::ranges::all_of(
      name, [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; });
  return spelled && name.size() <= 16 && name.find(':') != std::string_view::npos;
}

std::string plain_bus_id(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t domain = bus_id.find(':');
  const bool long_domain = domain == 8 && bus_id.starts_with("0000");
  return long_domain ? bus_id.substr(4) : bus_id;
}

std::vector<std::string> driver_gpus(const fs::path& root) {
  std::vector<std::string> bus_ids = names_in(root / "proc/driver/nvidia/gpus");
  for (std::string& bus_id : bus_ids) bus_id = plain_bus_id(std::move(bus_id));
  std::ranges::sort(bus_ids);
  return bus_ids;
}

std::vector<int> gpu_numa_nodes(const fs::path& root) {
  std::vector<int> nodes;
  for (const std::string& bus_id : driver_gpus(root)) {
    const auto node = read_number(root / "sys/bus/pci/devices" / bus_id / "numa_node");
    nodes.push_back(node ? std::max(0, *node) : 0);  // -1: the firmware does not tell
  }
  return nodes;
}

int count_gpus(const fs::path& root) {
  const auto nvidia = static_cast<int>(nvidia_device_files(root).size());
  return nvidia > 0 ? nvidia : amd_gpus(root);
}

int openable_gpus(const fs::path& root) {
  return static_cast<int>(
      std::ranges::count_if(nvidia_device_files(root), [](const fs::path& path) {
        const Descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
        return file.is_open() || (errno != EPERM && errno != EACCES && errno != ENOENT);
      }));
}

}  // namespace ddprun
