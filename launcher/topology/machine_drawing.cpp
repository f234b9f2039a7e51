#include "launcher/topology/machine_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ddprun {

namespace {

struct Branch {
  std::string text;
  std::vector<Branch> branches;
};

std::string memory_text(std::uint64_t bytes) {
  if (bytes == 0) return "";
  const double gigabytes = static_cast<double>(bytes) / (1 << 30);
  return fmt::format(", {:.{}f} GiB", gigabytes, gigabytes < 9.95 ? 1 : 0);
}

/// The CPUs of a NUMA node, or of the machine.
struct CpuCount {
  std::set<int> packages, cores, caches;
};

CpuCount count(const Machine& machine, const std::vector<int>& cpus) {
  const std::set<int> wanted(cpus.begin(), cpus.end());
  CpuCount found;
  for (const Cpu& cpu : machine.cpus.cpus) {
    if (!wanted.contains(cpu.id)) continue;
    found.packages.insert(cpu.package);
    found.cores.insert(cpu.core);
    found.caches.insert(cpu.cache);
  }
  return found;
}

std::string text_of(const Device& device) {
  std::string text = device.name + " " + device.bus_id + " " + device.model;
  for (const std::string& interface : device.interfaces) text += " " + interface;
  return text;
}

std::string text_of_bridge(const std::string& name) {
  return name.starts_with("pci") ? "PCI " + name.substr(3) : "bridge " + name;
}

/// Devices that have the first `depth` bridges in common, with what parts them.
std::vector<Branch> parted(const std::vector<const Device*>& devices, std::size_t depth) {
  std::map<std::string, std::vector<const Device*>> below;
  std::vector<Branch> branches;
  std::vector<std::string> order;
  for (const Device* device : devices) {
    const bool here = device->path.size() <= depth;
    if (here) {
      branches.push_back({text_of(*device), {}});
      continue;
    }
    auto& group = below[device->path[depth]];
    if (group.empty()) order.push_back(device->path[depth]);
    group.push_back(device);
  }
  for (const std::string& bridge : order) {
    std::vector<Branch> inner = parted(below[bridge], depth + 1);
    if (inner.size() == 1)  // it parts nobody
      branches.push_back(std::move(inner.front()));
    else
      branches.push_back({text_of_bridge(bridge), std::move(inner)});
  }
  return branches;
}

/// The devices near a node; nullopt: those of which the firmware does not tell. If there is one
/// node, all are near it.
std::vector<Branch> devices_near(const Machine& machine, std::optional<int> node) {
  std::set<int> known;
  for (const NumaNode& each : machine.nodes) known.insert(each.id);
  std::vector<const Device*> devices;
  for (const Device& device : machine.devices) {
    std::optional<int> of_device = device.numa_node;
    if (of_device && !known.contains(*of_device)) of_device.reset();
    if (!of_device && known.size() == 1) of_device = *known.begin();
    if (of_device == node) devices.push_back(&device);
  }
  std::ranges::sort(devices, {}, [](const Device* device) { return device->bus_id; });
  return parted(devices, 0);
}

Branch branch_of(const Machine& machine, const NumaNode& node) {
  const CpuCount cpus = count(machine, node.cpus);
  std::string text = fmt::format("node {}", node.id);
  if (node.cpus.empty())
    text += ": no CPU";
  else
    text += fmt::format(": CPUs {} ({}, {})", format_number_list(node.cpus),
                        counted(cpus.cores.size(), "core"),
                        counted(cpus.caches.size(), "shared cache"));
  return {text + memory_text(node.bytes), devices_near(machine, node.id)};
}

Branch root_of(const Machine& machine) {
  CpuCount all;
  for (const Cpu& cpu : machine.cpus.cpus) {
    all.packages.insert(cpu.package);
    all.cores.insert(cpu.core);
  }
  Branch root{
      fmt::format("machine: {}, {}, {}, {}", counted(all.packages.size(), "socket"),
                  counted(machine.nodes.size(), "NUMA node"), counted(all.cores.size(), "core"),
                  counted(machine.cpus.cpus.size(), "CPU")),
      {}};
  if (machine.usable.cpus.size() < machine.cpus.cpus.size())
    root.text += fmt::format(", of which {} may be used", machine.usable.cpus.size());
  std::map<int, std::size_t> sockets;  // places in root.branches
  for (const NumaNode& node : machine.nodes) {
    const CpuCount cpus = count(machine, node.cpus);
    Branch branch = branch_of(machine, node);
    if (cpus.packages.size() != 1) {
      root.branches.push_back(std::move(branch));
      continue;
    }
    const int package = *cpus.packages.begin();
    const auto [socket, is_new] = sockets.try_emplace(package, root.branches.size());
    if (is_new) root.branches.push_back({fmt::format("socket {}", package), {}});
    root.branches[socket->second].branches.push_back(std::move(branch));
  }
  std::vector<Branch> elsewhere = devices_near(machine, std::nullopt);
  if (!elsewhere.empty())
    root.branches.push_back(
        {"the firmware does not tell which node is near", std::move(elsewhere)});
  return root;
}

void draw(const Branch& branch, const std::string& first, const std::string& rest, int columns,
          std::string& out) {
  const auto room = static_cast<std::size_t>(std::max(columns, 20));
  out += cut_columns(first + plain_line(branch.text), room) + "\n";
  for (std::size_t i = 0; i < branch.branches.size(); ++i) {
    const bool last = i + 1 == branch.branches.size();
    draw(branch.branches[i], rest + (last ? "└─ " : "├─ "), rest + (last ? "   " : "│  "), columns,
         out);
  }
}

}  // namespace

std::string machine_tree(const Machine& machine, const TopoStyle& style) {
  std::string out;
  draw(root_of(machine), "", "", style.columns, out);
  return out;
}

}  // namespace ddprun
