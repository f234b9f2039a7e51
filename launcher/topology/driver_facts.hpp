// What NVIDIA's driver says of its GPUs, as plain data, and what it adds to a machine. Pure;
// nvml.hpp asks the driver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/topology/machine.hpp"

namespace ddprun {

/// A GPU as the driver knows it.
struct DriverGpu {
  std::string bus_id;              // as in Device
  std::string model;               // "NVIDIA H100 80GB HBM3"
  int links_to_switches = 0;       // its NVLinks that end at an NVSwitch
  std::vector<std::string> peers;  // bus ids at the ends of its other NVLinks, one for each link
};

struct DriverFacts {
  std::vector<DriverGpu> gpus;
  std::map<GpuPair, Way> ways;  // by PCI
};

/// Adds to `machine` what the driver knows: models, NVLinks, ways, and GPUs that the kernel does
/// not show on its PCI bus. An NVSwitch joins all GPUs that have links to switches, each with as
/// many links as the GPU that has fewer of them.
void add_driver_facts(Machine& machine, const DriverFacts& facts);

}  // namespace ddprun
