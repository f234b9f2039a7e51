#include "launcher/topology/machine_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/number_list.hpp"
#include "base/printable.hpp"
#include "launcher/topology/nearness.hpp"

namespace ddprun {

namespace {

using Row = std::vector<std::string>;

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
      return "\x1b[2m";
    case Way::kNvLink:
      return "\x1b[1;32m";
    case Way::kPix:
    case Way::kPxb:
      return "\x1b[32m";
    case Way::kPhb:
    case Way::kNode:
      return "\x1b[33m";
    case Way::kSystem:
      return "\x1b[31m";
  }
  return "";
}

std::string without_blanks_behind(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Columns are as wide as what stands in them. The last one is cut where the line is full.
std::string table(const std::vector<Row>& rows, const TopoStyle& style) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format("{:<{}}{}", row[i], widths[i], kGap);
    const auto columns = static_cast<std::size_t>(std::max(style.columns, 20));
    line = cut_to(line, columns);
    line += cut_to(row.back(), columns - std::min(columns, line.size()));
    out += without_blanks_behind(line) + "\n";
  }
  return out;
}

/// A list of CPUs that are far from being in a row is as long as the machine is large.
std::string cpu_list(const std::vector<int>& cpus, const TopoStyle& style) {
  if (cpus.empty()) return "-";
  return cut_to(format_number_list(cpus), style.columns < 100 ? 28 : 44);
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
    return style_.color ? color_of(near.way) + word + "\x1b[0m" : word;
  }

  std::string meanings() const {
    std::string out;
    const auto columns = static_cast<std::size_t>(std::max(style_.columns, 20));
    for (const Meaning& meaning : kMeanings)
      if (seen_.contains(meaning.way))
        out += (out.empty() ? "\n" : "") +
               cut_to(fmt::format("  {:<4}  {}", meaning.word, meaning.text), columns) + "\n";
    return out;
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

std::string cut_to(const std::string& text, std::size_t columns) {
  std::size_t shown = 0, at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;  // inside a character
    if (++shown > columns) break;
  }
  if (at == text.size()) return text;
  if (columns == 0) return "";
  std::size_t end = at;  // the first character that has no room; one more makes way for the "…"
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return text.substr(0, end) + "…";
}

std::string nearness_table(const Machine& machine, const TopoStyle& style) {
  return machine.devices.empty() ? "" : NearnessBlocks{machine, style}.text();
}

std::string device_table(const Machine& machine, const TopoStyle& style) {
  if (machine.devices.empty()) return "";
  std::vector<Row> rows{{"", "PCI bus", "NUMA", "CPUs near it", "what it is"}};
  for (const Device& device : machine.devices)
    rows.push_back({device.name, device.bus_id,
                    device.numa_node ? std::to_string(*device.numa_node) : "-",
                    cpu_list(device.cpus, style), description(device)});
  return table(rows, style);
}

std::string distance_table(const Machine& machine, const TopoStyle& style) {
  const auto untold = [&](const NumaNode& node) {
    return node.distances.size() != machine.nodes.size();
  };
  if (machine.nodes.size() < 2 || std::ranges::any_of(machine.nodes, untold)) return "";
  std::vector<Row> rows{{"NUMA node"}};
  for (const NumaNode& node : machine.nodes) rows[0].push_back(std::to_string(node.id));
  for (const NumaNode& node : machine.nodes) {
    rows.push_back({std::to_string(node.id)});
    std::ranges::transform(node.distances, std::back_inserter(rows.back()),
                           [](int distance) { return std::to_string(distance); });
  }
  return table(rows, style);
}

std::string worker_table(const std::vector<WorkerPlace>& places, const TopoStyle& style) {
  std::vector<Row> rows{{"worker", "GPU", "memory of", "CPUs"}};
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const WorkerPlace& place = places[rank];
    rows.push_back({std::to_string(rank), place.gpu.empty() ? "-" : place.gpu,
                    "node " + format_number_list(place.placement.memory_nodes),
                    format_number_list(place.placement.cpus)});
  }
  return table(rows, style);
}

}  // namespace ddprun
