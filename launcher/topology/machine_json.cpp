#include "launcher/topology/machine_json.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/number_list.hpp"
#include "launcher/topology/nearness.hpp"

namespace ddprun {

namespace {

using nlohmann::json;

constexpr std::size_t kTextBytesMax = 256;
constexpr int kNvLinksMax = 1024;

// --- to JSON ---

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

// --- from JSON ---

/// Thrown and caught in this file alone: a sentence about what makes no sense.
struct Nonsense {
  std::string why;
};

/// A list of at most `most` entries.
const json& list_of(const json& object, const char* name, std::size_t most) {
  const json& list = object.at(name);
  if (!list.is_array()) throw Nonsense{std::string{name} + " is no list"};
  if (list.size() > most)
    throw Nonsense{std::string{name} + " has more than " + std::to_string(most) + " entries"};
  return list;
}

int number_of(const json& object, const char* name, int least, int most) {
  const json& number = object.at(name);
  if (!number.is_number_integer() || number < least || number > most)
    throw Nonsense{std::string{name} + " is no whole number from " + std::to_string(least) +
                   " to " + std::to_string(most)};
  return number.get<int>();
}

std::string short_text(const json& text, const char* name) {
  auto read = text.get<std::string>();
  if (read.size() > kTextBytesMax) throw Nonsense{std::string{name} + " is too long"};
  return read;
}

std::vector<std::string> texts_of(const json& object, const char* name, std::size_t most) {
  std::vector<std::string> texts;
  for (const json& text : list_of(object, name, most)) texts.push_back(short_text(text, name));
  return texts;
}

std::vector<int> cpus_of(const json& object, const char* name) {
  auto cpus = parse_cpu_list(object.at(name).get_ref<const std::string&>());
  if (!cpus) throw Nonsense{std::string{name} + ": " + cpus.error().message};
  return std::move(*cpus);
}

CpuTopology read_cpus(const json& root) {
  constexpr int kAnyMax = std::numeric_limits<int>::max();
  CpuTopology topology;
  for (const json& cpu : list_of(root, "cpus", kCpusMax))
    topology.cpus.push_back({.id = number_of(cpu, "id", 0, kCpusMax - 1),
                             .core = number_of(cpu, "core", 0, kAnyMax),
                             .package = number_of(cpu, "package", -1, kAnyMax),
                             .numa_node = number_of(cpu, "numa_node", 0, kNumaNodesMax),
                             .cache = number_of(cpu, "cache", 0, kAnyMax)});
  const auto not_ascending = [](const Cpu& a, const Cpu& b) { return a.id >= b.id; };
  if (std::ranges::adjacent_find(topology.cpus, not_ascending) != topology.cpus.end())
    throw Nonsense{"cpus are not in ascending order"};
  return topology;
}

CpuTopology only(const CpuTopology& all, const std::vector<int>& ids) {
  CpuTopology some;
  for (const Cpu& cpu : all.cpus)
    if (std::ranges::binary_search(ids, cpu.id)) some.cpus.push_back(cpu);
  return some;
}

std::vector<NumaNode> read_nodes(const json& root) {
  std::vector<NumaNode> nodes;
  for (const json& node : list_of(root, "numa_nodes", kNumaNodesMax)) {
    NumaNode read{.id = number_of(node, "id", 0, kNumaNodesMax), .cpus = cpus_of(node, "cpus")};
    if (!node.at("bytes").is_number_unsigned()) throw Nonsense{"bytes is no number of bytes"};
    read.bytes = node.at("bytes").get<std::uint64_t>();
    for (const json& distance : list_of(node, "distances", kNumaNodesMax)) {
      if (!distance.is_number_integer() || distance < 0 || distance > 255)
        throw Nonsense{"distances has more than 255, or no number"};
      read.distances.push_back(distance.get<int>());
    }
    nodes.push_back(std::move(read));
  }
  return nodes;
}

Device read_device(const json& object) {
  const std::string kind = short_text(object.at("kind"), "kind");
  if (kind != "gpu" && kind != "nic") throw Nonsense{"kind is neither gpu nor nic"};
  Device device{.kind = kind == "gpu" ? Device::Kind::kGpu : Device::Kind::kNic,
                .bus_id = short_text(object.at("bus_id"), "bus_id"),
                .model = short_text(object.at("model"), "model"),
                .path = texts_of(object, "path", kBridgesMax),
                .cpus = cpus_of(object, "cpus"),
                .interfaces = texts_of(object, "interfaces", kInterfacesMax),
                .for_workers = object.at("for_workers").get<bool>()};
  if (!is_pci_name(device.bus_id) || !std::ranges::all_of(device.path, is_pci_name))
    throw Nonsense{"bus_id or path has a name that is not one of PCI, such as 0000:07:00.0"};
  if (!object.at("numa_node").is_null())
    device.numa_node = number_of(object, "numa_node", 0, kNumaNodesMax);
  return device;
}

std::map<GpuPair, GpuLink> read_links(const json& root) {
  std::map<GpuPair, GpuLink> links;
  for (const json& object : list_of(root, "gpu_links", kDevicesMax * kDevicesMax)) {
    const auto gpus = texts_of(object, "gpus", 2);
    if (gpus.size() != 2) throw Nonsense{"gpus is not two bus ids"};
    GpuLink link{.nvlinks = number_of(object, "nvlinks", 0, kNvLinksMax)};
    if (!object.at("way").is_null()) {
      link.told = parse_way(short_text(object.at("way"), "way"));
      if (!link.told) throw Nonsense{"way is none of PIX, PXB, PHB, NODE and SYS"};
    }
    links[gpu_pair(gpus[0], gpus[1])] = link;
  }
  return links;
}

Machine machine_from(const json& root) {
  Machine machine{
      .cpus = read_cpus(root), .nodes = read_nodes(root), .gpu_links = read_links(root)};
  machine.usable = only(machine.cpus, cpus_of(root, "usable_cpus"));
  if (machine.usable.cpus.empty()) throw Nonsense{"usable_cpus has none of the CPUs"};
  if (machine.nodes.empty()) throw Nonsense{"numa_nodes is empty"};
  for (const json& device : list_of(root, "devices", kDevicesMax))
    machine.devices.push_back(read_device(device));
  name_devices(machine);
  return machine;
}

}  // namespace

std::string to_json(const Machine& machine, const std::vector<WorkerPlace>& places) {
  json devices = json::array();
  for (const Device& device : machine.devices) devices.push_back(of_device(device));
  const json root = {{"cpus", of_cpus(machine.cpus)},   {"usable_cpus", usable_list(machine)},
                     {"numa_nodes", of_nodes(machine)}, {"devices", std::move(devices)},
                     {"gpu_links", of_links(machine)},  {"matrix", matrix_of(machine)},
                     {"workers", of_places(places)}};
  return root.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Machine> parse_machine(std::string_view text) try {
  if (text.size() > kMachineBytesMax)
    return invalid("it has more than " + std::to_string(kMachineBytesMax) + " bytes");
  return machine_from(json::parse(text));
} catch (const json::exception& e) {
  return invalid(e.what());
} catch (const Nonsense& nonsense) {
  return invalid(nonsense.why);
}

}  // namespace ddprun
