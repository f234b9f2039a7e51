#include "launcher/topology/driver_facts.hpp"

#include <algorithm>

namespace ddprun {

namespace {

int nvlinks_between(const DriverGpu& a, const DriverGpu& b) {
  const auto direct =
      std::max(std::ranges::count(a.peers, b.bus_id), std::ranges::count(b.peers, a.bus_id));
  return static_cast<int>(direct) + std::min(a.links_to_switches, b.links_to_switches);
}

void add_gpu(Machine& machine, const DriverGpu& gpu) {
  for (Device& device : machine.devices)
    if (device.bus_id == gpu.bus_id) {
      if (!gpu.model.empty()) device.model = gpu.model;
      return;
    }
  if (machine.devices.size() < kDevicesMax && is_pci_name(gpu.bus_id))
    machine.devices.push_back({.bus_id = gpu.bus_id, .model = gpu.model});
}

}  // namespace

void add_driver_facts(Machine& machine, const DriverFacts& facts) {
  for (const DriverGpu& gpu : facts.gpus) add_gpu(machine, gpu);
  name_devices(machine);
  for (std::size_t i = 0; i < facts.gpus.size(); ++i)
    for (std::size_t j = i + 1; j < facts.gpus.size(); ++j) {
      const GpuPair pair = gpu_pair(facts.gpus[i].bus_id, facts.gpus[j].bus_id);
      GpuLink& link = machine.gpu_links[pair];
      link.nvlinks = nvlinks_between(facts.gpus[i], facts.gpus[j]);
      if (const auto way = facts.ways.find(pair); way != facts.ways.end()) link.told = way->second;
    }
}

}  // namespace ddprun
