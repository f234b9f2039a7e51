#include "launcher/topology/machine.hpp"

#include <algorithm>
#include <tuple>

namespace ddprun {

GpuPair gpu_pair(const std::string& a, const std::string& b) {
  return a < b ? GpuPair{a, b} : GpuPair{b, a};
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
