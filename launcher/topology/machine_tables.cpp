#include "launcher/topology/machine_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "launcher/topology/nearness.hpp"

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

}  // namespace ddprun
