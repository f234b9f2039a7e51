#include "launcher/topology/driver_facts.hpp"

#include <algorithm>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/machine/gpu_fields.hpp"
#include "base/text.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

namespace {

int nvlinks_between(const GpuReading& a, const GpuReading& b) {
  const auto direct =
      std::max(std::ranges::count(a.peers, b.bus_id), std::ranges::count(b.peers, a.bus_id));
  return static_cast<int>(direct) +
         std::min(a.links_to_switches.value_or(0), b.links_to_switches.value_or(0));
}

void add_gpu(Machine& machine, const GpuReading& gpu) {
  std::string model = plain_line(gpu.model);
  std::ranges::replace(model, '\t', ' ');  // it stands in tables
  for (Device& device : machine.devices)
    if (device.bus_id == gpu.bus_id) {
      if (!model.empty()) device.model = std::move(model);
      return;
    }
  if (machine.devices.size() < kDevicesMax && is_pci_name(gpu.bus_id))
    machine.devices.push_back({.bus_id = gpu.bus_id, .model = std::move(model)});
}

}  // namespace

void add_driver_facts(Machine& machine, const GpusReading& facts) {
  for (const GpuReading& gpu : facts.gpus) add_gpu(machine, gpu);
  name_devices(machine);
  for (std::size_t i = 0; i < facts.gpus.size(); ++i)
    for (std::size_t j = i + 1; j < facts.gpus.size(); ++j) {
      const GpuPair pair = gpu_pair(facts.gpus[i].bus_id, facts.gpus[j].bus_id);
      machine.gpu_links[pair].nvlinks = nvlinks_between(facts.gpus[i], facts.gpus[j]);
    }
  for (const GpuWay& way : facts.ways)
    if (const auto link = machine.gpu_links.find(gpu_pair(way.first, way.second));
        link != machine.gpu_links.end())
      link->second.told = parse_way(way.way);
}

Result<GpusReading> parse_driver_facts(std::string_view text) try {
  auto facts = fields::from_text<GpusReading>(text, "what the driver tells");
  if (!facts.error.empty()) return Error{Error::Kind::kUnavailable, plain_line(facts.error)};
  return facts;
} catch (const fields::Unfit&) {
  return Error{Error::Kind::kUnavailable, "the process that asked it has crashed"};
}

}  // namespace ddprun
