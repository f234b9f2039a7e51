#include "launcher/topology/machine.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace ddprun {

GpuPair gpu_pair(const std::string& a, const std::string& b) {
  return a < b ? GpuPair{a, b} : GpuPair{b, a};
}

bool is_pci_name(std::string_view name) {
  if (name.starts_with("pci")) name.remove_prefix(3);
  const bool spelled = std::ranges::all_of(
      name, [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; });
  return spelled && name.size() <= 16 && name.find(':') != std::string_view::npos;
}

void name_devices(Machine& machine) {
  std::ranges::sort(machine.devices, [](const Device& a, const Device& b) {
    return std::tie(a.kind, a.bus_id) < std::tie(b.kind, b.bus_id);
  });
  int gpus = 0, nics = 0;
  for (Device& device : machine.devices)
    device.name = device.kind == Device::Kind::kGpu ? "GPU" + std::to_string(gpus++)
                                                    : "NIC" + std::to_string(nics++);
}

}  // namespace ddprun
