#include "tests/launcher/topology/recorded_machine.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/numbers.hpp"

namespace ddprun {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> cut(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<int> cpu_list(const std::string& text) { return parse_cpu_list(text).value(); }

/// Reads "KEY VALUE" pairs; the last key, "distances" or "path", has all that follows.
std::map<std::string, std::string> read_pairs(std::istringstream& in) {
  std::map<std::string, std::string> pairs;
  for (std::string key, value; in >> key;) {
    if (key == "distances")
      std::getline(in >> std::ws, value);
    else
      in >> value;
    pairs[key] = value;
  }
  return pairs;
}

RecordedNode read_node(std::istringstream& in) {
  int id = 0;
  in >> id;
  auto pairs = read_pairs(in);
  return {id,
          std::stoi(pairs.at("package")),
          cpu_list(pairs.at("cpus")),
          std::stoi(pairs.at("threads")),
          std::stoi(pairs.at("cores-per-cache")),
          std::stol(pairs.at("megabytes")),
          pairs["distances"]};
}

RecordedDevice read_device(std::istringstream& in) {
  std::string bus_id;
  in >> bus_id;
  auto pairs = read_pairs(in);
  const auto id = cut(pairs.at("id"), ':');
  return {.bus_id = bus_id,
          .vendor = id.at(0),
          .device = id.at(1),
          .type = pairs.at("class"),
          .node = std::stoi(pairs.at("node")),
          .path = cut(pairs.at("path"), '/'),
          .interfaces = cut(pairs["interfaces"], ','),
          .driver = pairs["driver"]};
}

void read_matrix(std::istream& in, RecordedMachine& machine) {
  std::string line, name;
  std::getline(in, line);
  std::istringstream heads{line};
  std::vector<std::string> names;
  while (heads >> name) names.push_back(name);
  for (std::size_t row = 0; row < names.size(); ++row) {
    if (!std::getline(in, line)) throw std::runtime_error{"the matrix has too few rows"};
    std::istringstream cells{line};
    cells >> name;
    for (const std::string& column : names)
      if (!(cells >> machine.matrix[name][column])) throw std::runtime_error{"row: " + line};
  }
}

/// "nvlinks 12 to switches" or "nvlinks 4 between BUS_ID and BUS_ID".
void read_links(std::istringstream& in, RecordedMachine& machine) {
  int count = 0;
  std::string word, first, second;
  in >> count >> word >> first;
  if (word == "to") {
    for (GpuReading& gpu : machine.facts.gpus) gpu.links_to_switches = count;
    return;
  }
  in >> word >> second;
  for (GpuReading& gpu : machine.facts.gpus)
    for (int link = 0; link < count; ++link) {
      if (gpu.bus_id == first) gpu.peers.push_back(second);
      if (gpu.bus_id == second) gpu.peers.push_back(first);
    }
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream out{file, std::ios::binary};
  if (!(out << text)) throw std::runtime_error{"cannot write " + file.string()};
}

void write_line(const fs::path& file, const std::string& text) { write(file, text + "\n"); }

/// The kernel's other spelling of a list: "ffff,00000000".
std::string mask_of(const std::vector<int>& cpus) {
  const int words = (cpus.empty() ? 0 : *std::ranges::max_element(cpus)) / 32 + 1;
  std::string text;
  for (int word = words - 1; word >= 0; --word) {
    unsigned bits = 0;
    for (const int cpu : cpus)
      if (cpu / 32 == word) bits |= 1U << (cpu % 32);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%08x", bits);
    text += (text.empty() ? "" : ",") + std::string{digits};
  }
  return text;
}

void write_cpus(const fs::path& folder, const std::string& name, const std::vector<int>& cpus) {
  write_line(folder / (name + "_list"), format_number_list(cpus));
  write_line(folder / (name == "shared_cpu" ? "shared_cpu_map" : name), mask_of(cpus));
}

std::vector<int> sorted(std::vector<int> cpus) {
  std::ranges::sort(cpus);
  return cpus;
}

void write_node_cpus(const RecordedNode& node, const std::vector<int>& of_package, int first_core,
                     const fs::path& folder) {
  const int cores = static_cast<int>(node.cpus.size()) / node.threads;
  const auto threads_of = [&](int from, int to) {
    std::vector<int> cpus;
    for (int thread = 0; thread < node.threads; ++thread)
      for (int core = from; core < to; ++core)
        cpus.push_back(node.cpus.at(static_cast<unsigned>(thread * cores + core)));
    return sorted(cpus);
  };
  for (int core = 0; core < cores; ++core) {
    const int cache = core / node.cores_per_cache * node.cores_per_cache;
    for (const int cpu : threads_of(core, core + 1)) {
      const fs::path here = folder / ("cpu" + std::to_string(cpu));
      write_line(here / "topology/physical_package_id", std::to_string(node.package));
      write_line(here / "topology/core_id", std::to_string(first_core + core));
      write_cpus(here / "topology", "core_cpus", threads_of(core, core + 1));
      write_cpus(here / "topology", "thread_siblings", threads_of(core, core + 1));
      write_cpus(here / "topology", "package_cpus", of_package);
      write_cpus(here / "topology", "core_siblings", of_package);
      const fs::path l3 = here / "cache/index3";
      write_line(l3 / "level", "3");
      write_line(l3 / "type", "Unified");
      write_line(l3 / "size", "16384K");
      const auto sharers = threads_of(cache, std::min(cores, cache + node.cores_per_cache));
      write_line(l3 / "shared_cpu_list", format_number_list(sharers));
      write_line(l3 / "shared_cpu_map", mask_of(sharers));
    }
  }
}

void write_node(const RecordedNode& node, const fs::path& folder) {
  const fs::path here = folder / ("node" + std::to_string(node.id));
  write_line(here / "cpulist", format_number_list(node.cpus));
  write_line(here / "cpumap", mask_of(node.cpus));
  write_line(here / "meminfo", "Node " + std::to_string(node.id) + " MemTotal:       " +
                                   std::to_string(node.megabytes * 1024) + " kB");
  if (!node.distances.empty()) write_line(here / "distance", node.distances);
}

/// The first 64 bytes of what a device tells of itself over PCI: of a bridge hwloc wants to know
/// the numbers of the buses behind it (PCI-to-PCI Bridge Architecture Specification, 3.2).
std::string config_space(bool bridge, int bus, int behind, int last_behind) {
  std::string bytes(64, '\0');
  bytes[0x0e] = bridge ? 1 : 0;
  bytes[0x18] = static_cast<char>(bus);
  bytes[0x19] = static_cast<char>(behind);
  bytes[0x1a] = static_cast<char>(last_behind);
  return bytes;
}

int bus_of(const std::string& bus_id) { return std::stoi(bus_id.substr(5, 2), nullptr, 16); }

struct PciFolder {
  std::string path, type, vendor, device;
  int node = -1;
  int behind = 0, last_behind = 0;  // buses behind a bridge
};

void write_pci(const RecordedMachine& machine, const PciFolder& pci, const fs::path& sys) {
  const std::string bus_id = pci.path.substr(pci.path.rfind('/') + 1);
  const fs::path here = sys / "devices" / pci.path;
  write_line(here / "class", "0x" + pci.type);
  write_line(here / "vendor", "0x" + pci.vendor);
  write_line(here / "device", "0x" + pci.device);
  write_line(here / "subsystem_vendor", "0x" + pci.vendor);
  write_line(here / "subsystem_device", "0x0000");
  write_line(here / "revision", "0x01");
  write(here / "config", config_space(pci.behind > 0, bus_of(bus_id), pci.behind, pci.last_behind));
  write_line(here / "numa_node", std::to_string(pci.node));
  std::vector<int> near;
  for (const RecordedNode& node : machine.nodes)
    if (node.id == pci.node || pci.node < 0)
      near.insert(near.end(), node.cpus.begin(), node.cpus.end());
  write_line(here / "local_cpulist", format_number_list(sorted(near)));
  write_line(here / "local_cpus", mask_of(near));
  fs::create_directories(sys / "bus/pci/devices");
  fs::create_symlink(fs::path{"../../../devices"} / pci.path, sys / "bus/pci/devices" / bus_id);
}

/// The bridges above all devices, by path, each with the buses behind it.
std::map<std::string, PciFolder> bridges_of(const RecordedMachine& machine) {
  std::map<std::string, PciFolder> bridges;
  for (const RecordedDevice& device : machine.devices) {
    std::string path = device.path.at(0);
    for (std::size_t i = 1; i < device.path.size(); ++i) {
      path += "/" + device.path[i];
      const std::string& below = i + 1 < device.path.size() ? device.path[i + 1] : device.bus_id;
      const auto [bridge, is_new] = bridges.try_emplace(
          path, PciFolder{path, "060400", "1000", "c010", device.node, bus_of(below), 0});
      bridge->second.last_behind = std::max(bridge->second.last_behind, bus_of(device.bus_id));
    }
  }
  return bridges;
}

void write_device(const RecordedMachine& machine, const RecordedDevice& device,
                  const fs::path& sys) {
  std::string path;
  for (const std::string& part : device.path) path += part + "/";
  path += device.bus_id;
  write_pci(machine, {path, device.type, device.vendor, device.device, device.node}, sys);
  for (const std::string& interface : device.interfaces) {
    const bool verbs = interface.starts_with("mlx5_");
    write_line(sys / "devices" / path / (verbs ? "infiniband" : "net") / interface / "address", "");
  }
  if (!device.driver.empty())
    fs::create_symlink("../../../bus/pci/drivers/" + device.driver,
                       sys / "devices" / path / "driver");
}

}  // namespace

RecordedMachine read_description(const fs::path& file) {
  RecordedMachine machine;
  std::ifstream in{file};
  if (!in) throw std::runtime_error{"cannot read " + file.string()};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words{line};
    std::string kind;
    words >> kind;
    if (kind.empty() || kind.starts_with("#")) continue;
    if (kind == "node") {
      machine.nodes.push_back(read_node(words));
    } else if (kind == "gpu" || kind == "nic" || kind == "other") {
      machine.devices.push_back(read_device(words));
      if (machine.devices.back().driver == "nvidia" && kind == "gpu")
        machine.facts.gpus.push_back({.bus_id = machine.devices.back().bus_id});
    } else if (kind == "nvlinks") {
      read_links(words, machine);
    } else if (kind == "matrix") {
      read_matrix(in, machine);
    } else if (kind == "workers") {
      for (std::string row; std::getline(in, row) && !row.empty();) machine.workers += row + "\n";
    } else {
      throw std::runtime_error{file.string() + ": " + line};
    }
  }
  return machine;
}

void write_files(const RecordedMachine& machine, const fs::path& folder) {
  const fs::path sys = folder / "sys";
  std::map<int, std::vector<int>> packages;
  std::vector<int> all, node_ids;
  for (const RecordedNode& node : machine.nodes) {
    auto& package = packages[node.package];
    package.insert(package.end(), node.cpus.begin(), node.cpus.end());
    all.insert(all.end(), node.cpus.begin(), node.cpus.end());
    node_ids.push_back(node.id);
  }
  std::map<int, int> cores;  // how many each package has had so far
  for (const RecordedNode& node : machine.nodes) {
    int& first = cores[node.package];
    write_node_cpus(node, sorted(packages[node.package]), first, sys / "devices/system/cpu");
    first += static_cast<int>(node.cpus.size()) / node.threads;
    write_node(node, sys / "devices/system/node");
  }
  write_line(sys / "devices/system/cpu/online", format_number_list(sorted(all)));
  write_line(sys / "devices/system/cpu/possible", format_number_list(sorted(all)));
  write_line(sys / "devices/system/node/online", format_number_list(sorted(node_ids)));
  write_line(sys / "devices/system/node/possible", format_number_list(sorted(node_ids)));
  for (const auto& [path, bridge] : bridges_of(machine)) write_pci(machine, bridge, sys);
  for (const RecordedDevice& device : machine.devices) write_device(machine, device, sys);
}

}  // namespace ddprun
