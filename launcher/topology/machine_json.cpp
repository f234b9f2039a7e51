#include "launcher/topology/machine_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/json/json_text.hpp"
#include "base/numbers.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

json of_cpus(const CpuTopology& topology) {
  json list = json::array();
  for (const Cpu& cpu : topology.cpus)
    list.push_back({{"id", cpu.id},
                    {"core", cpu.core},
                    {"package", cpu.package},
                    {"numa_node", cpu.numa_node},
                    {"cache", cpu.cache}});
  return list;
}

std::string usable_list(const Machine& machine) {
  std::vector<int> usable;
  for (const Cpu& cpu : machine.usable.cpus) usable.push_back(cpu.id);
  return format_number_list(usable);
}

json of_nodes(const Machine& machine) {
  json list = json::array();
  for (const NumaNode& node : machine.nodes)
    list.push_back({{"id", node.id},
                    {"cpus", format_number_list(node.cpus)},
                    {"bytes", node.bytes},
                    {"distances", node.distances}});
  return list;
}

json of_device(const Device& device) {
  return {{"name", device.name},
          {"kind", device.kind == Device::Kind::kGpu ? "gpu" : "nic"},
          {"bus_id", device.bus_id},
          {"model", device.model},
          {"path", device.path},
          {"numa_node", device.numa_node ? json(*device.numa_node) : json()},
          {"cpus", format_number_list(device.cpus)},
          {"interfaces", device.interfaces},
          {"for_workers", device.for_workers}};
}

json of_links(const Machine& machine) {
  json list = json::array();
  for (const auto& [pair, link] : machine.gpu_links)
    list.push_back({{"gpus", {pair.first, pair.second}},
                    {"nvlinks", link.nvlinks},
                    {"way", link.told ? json(to_string(Nearness{*link.told})) : json()}});
  return list;
}

json matrix_of(const Machine& machine) {
  json matrix = json::object();
  for (std::size_t i = 0; i < machine.devices.size(); ++i)
    for (std::size_t j = 0; j < machine.devices.size(); ++j)
      matrix[machine.devices[i].name][machine.devices[j].name] = to_string(nearness(machine, i, j));
  return matrix;
}

json of_places(const std::vector<WorkerPlace>& places) {
  json list = json::array();
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    list.push_back({{"local_rank", rank},
                    {"gpu", places[rank].gpu.empty() ? json() : json(places[rank].gpu)},
                    {"cpus", format_number_list(places[rank].placement.cpus)},
                    {"memory_nodes", format_number_list(places[rank].placement.memory_nodes)}});
  return list;
}

}  // namespace

std::string to_json(const Machine& machine, const std::vector<WorkerPlace>& places) {
  json devices = json::array();
  for (const Device& device : machine.devices) devices.push_back(of_device(device));
  const json root = {{"cpus", of_cpus(machine.cpus)},   {"usable_cpus", usable_list(machine)},
                     {"numa_nodes", of_nodes(machine)}, {"devices", std::move(devices)},
                     {"gpu_links", of_links(machine)},  {"matrix", matrix_of(machine)},
                     {"workers", of_places(places)}};
  return json_text(root) + "\n";
}

}  // namespace ddprun
