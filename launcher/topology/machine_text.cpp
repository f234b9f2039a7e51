#include "launcher/topology/machine_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "launcher/topology/machine.hpp"

namespace ddprun {

namespace {

constexpr std::string_view kGap = "  ";

struct Meaning {
  Way way;
  const char* word;
  const char* text;
};
constexpr std::array<Meaning, 6> kMeanings{
    {{Way::kNvLink, "NV#", "joined by # NVLinks"},
     {Way::kPix, "PIX", "at most one PCIe switch between them"},
     {Way::kPxb, "PXB", "several PCIe switches, and no host bridge"},
     {Way::kPhb, "PHB", "a PCIe host bridge, that is, the CPU"},
     {Way::kNode, "NODE", "between host bridges of one NUMA node"},
     {Way::kSystem, "SYS", "between NUMA nodes"}}};

const char* color_of(Way way) {
  switch (way) {
    case Way::kSelf:
      return kDim;
    case Way::kNvLink:
      return "1;32";  // bold, too
    case Way::kPix:
    case Way::kPxb:
      return kGreen;
    case Way::kPhb:
    case Way::kNode:
      return kYellow;
    case Way::kSystem:
      return kRed;
  }
  return "";
}

/// A terminal that is too narrow for any name is not minded.
std::string fitted(const std::string& text, const TopoStyle& style) {
  return cut_lines(text, std::max(style.columns, 20));
}

/// A list of CPUs that are far from being in a row is as long as the machine is large.
std::string cpu_list(const std::vector<int>& cpus, const TopoStyle& style) {
  if (cpus.empty()) return "-";
  return cut_columns(format_number_list(cpus), style.columns < 100 ? 28 : 44);
}

class NearnessBlocks {
 public:
  NearnessBlocks(const Machine& machine, const TopoStyle& style)
      : machine_{machine}, style_{style}, count_{machine.devices.size()} {
    for (const Device& device : machine.devices) label_ = std::max(label_, device.name.size());
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < count_; ++j)
        cell_ = std::max(cell_, to_string(nearness(machine, i, j)).size());
    cell_ = std::max(cell_, label_);
  }

  std::string text() {
    const auto columns = static_cast<std::size_t>(std::max(style_.columns, 20));
    const std::size_t room = columns - std::min(columns, label_);
    const std::size_t at_a_time = std::max<std::size_t>(room / (cell_ + kGap.size()), 1);
    std::string out;
    for (std::size_t first = 0; first < count_; first += at_a_time)
      out += (first > 0 ? "\n" : "") + block(first, std::min(count_, first + at_a_time));
    return out + meanings();
  }

 private:
  std::string block(std::size_t first, std::size_t end) {
    std::string out(label_, ' ');
    for (std::size_t column = first; column < end; ++column)
      out += fmt::format("{}{:>{}}", kGap, machine_.devices[column].name, cell_);
    out += "\n";
    for (std::size_t row = 0; row < count_; ++row) {
      out += fmt::format("{:<{}}", machine_.devices[row].name, label_);
      for (std::size_t column = first; column < end; ++column) out += cell(row, column);
      out += "\n";
    }
    return out;
  }

  std::string cell(std::size_t row, std::size_t column) {
    const Nearness near = nearness(machine_, row, column);
    seen_.insert(near.way);
    const std::string word = fmt::format("{}{:>{}}", kGap, to_string(near), cell_);
    return painted(word, style_.color ? color_of(near.way) : "");
  }

  std::string meanings() const {
    TextTable table{"<<"};
    for (const Meaning& meaning : kMeanings)
      if (seen_.contains(meaning.way)) table.add({{meaning.word}, {meaning.text}});
    const std::string text = table.text(false, "  ");
    return text.empty() ? "" : "\n" + fitted(text, style_);
  }

  const Machine& machine_;
  const TopoStyle& style_;
  std::size_t count_;
  std::size_t label_ = 0;
  std::size_t cell_ = 0;
  std::set<Way> seen_;
};

std::string description(const Device& device) {
  std::string text = device.model;
  for (const std::string& interface : device.interfaces) text += " " + interface;
  return plain_line(text);
}

}  // namespace

std::string nearness_table(const Machine& machine, const TopoStyle& style) {
  return machine.devices.empty() ? "" : NearnessBlocks{machine, style}.text();
}

std::string device_table(const Machine& machine, const TopoStyle& style) {
  if (machine.devices.empty()) return "";
  TextTable table{"<<<<<"};
  table.add({{""}, {"PCI bus"}, {"NUMA"}, {"CPUs near it"}, {"what it is"}});
  for (const Device& device : machine.devices)
    table.add({{device.name},
               {device.bus_id},
               {device.numa_node ? std::to_string(*device.numa_node) : "-"},
               {cpu_list(device.cpus, style)},
               {description(device)}});
  return fitted(table.text(), style);
}

std::string distance_table(const Machine& machine, const TopoStyle& style) {
  const auto untold = [&](const NumaNode& node) {
    return node.distances.size() != machine.nodes.size();
  };
  if (machine.nodes.size() < 2 || std::ranges::any_of(machine.nodes, untold)) return "";
  TextTable table{std::string(machine.nodes.size() + 1, '<')};
  std::vector<Cell> row{{"NUMA node"}};
  for (const NumaNode& node : machine.nodes) row.push_back({std::to_string(node.id)});
  table.add(std::move(row));
  for (const NumaNode& node : machine.nodes) {
    row = {{std::to_string(node.id)}};
    for (const int distance : node.distances) row.push_back({std::to_string(distance)});
    table.add(std::move(row));
  }
  return fitted(table.text(), style);
}

std::string worker_table(const std::vector<WorkerPlace>& places, const TopoStyle& style) {
  TextTable table{"<<<<"};
  table.add({{"worker"}, {"GPU"}, {"memory of"}, {"CPUs"}});
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const WorkerPlace& place = places[rank];
    table.add({{std::to_string(rank)},
               {place.gpu.empty() ? "-" : place.gpu},
               {"node " + format_number_list(place.placement.memory_nodes)},
               {format_number_list(place.placement.cpus)}});
  }
  return fitted(table.text(), style);
}

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
    if (inner.size() == 1)  // it parts nothing
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
