#include "launcher/topology/machine.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace ddprun {

GpuPair gpu_pair(const std::string& a, const std::string& b) {
  return a < b ? GpuPair{a, b} : GpuPair{b, a};
}

void name_devices(Machine& machine) {
  std::ranges::sort(machine.devices, [](const Device& a, const Device& b) {
    return std::tie(a.kind, a.bus_id) < std::tie(b.kind, b.bus_id);
  });
  int gpus = 0, nics = 0;
  for (Device& device : machine.devices)
    device.name = device.kind == Device::Kind::kGpu ? "GPU" + std::to_string(gpus++)
                                                    : "NIC" + std::to_string(nics++);
}

namespace {

constexpr std::array<std::pair<Way, const char*>, 5> kWords{{{Way::kPix, "PIX"},
                                                             {Way::kPxb, "PXB"},
                                                             {Way::kPhb, "PHB"},
                                                             {Way::kNode, "NODE"},
                                                             {Way::kSystem, "SYS"}}};

GpuLink link_between(const Machine& machine, const Device& a, const Device& b) {
  const auto found = machine.gpu_links.find(gpu_pair(a.bus_id, b.bus_id));
  return found == machine.gpu_links.end() ? GpuLink{} : found->second;
}

/// The way between different host bridges.
Way between_host_bridges(const Machine& machine, const Device& a, const Device& b) {
  if (machine.nodes.size() < 2) return Way::kNode;
  return a.numa_node && a.numa_node == b.numa_node ? Way::kNode : Way::kSystem;
}

/// A switch is two bridges one behind the other: its port towards the CPU, which all below it
/// share, and a port for each device. So below one switch there is at most one bridge that two
/// devices do not share.
Way by_pci(const Machine& machine, const Device& a, const Device& b) {
  const auto [of_a, of_b] = std::ranges::mismatch(a.path, b.path);
  const auto shared = of_a - a.path.begin();
  if (shared == 0) return between_host_bridges(machine, a, b);
  if (shared == 1) return Way::kPhb;
  const auto own = std::max(a.path.end() - of_a, b.path.end() - of_b);
  return own <= 1 ? Way::kPix : Way::kPxb;
}

}  // namespace

std::string to_string(const Nearness& nearness) {
  if (nearness.way == Way::kSelf) return "X";
  if (nearness.way == Way::kNvLink) return "NV" + std::to_string(nearness.nvlinks);
  for (const auto& [way, word] : kWords)
    if (way == nearness.way) return word;
  return "?";
}

std::optional<Way> parse_way(const std::string& word) {
  for (const auto& [way, name] : kWords)
    if (word == name) return way;
  return std::nullopt;
}

Nearness nearness(const Machine& machine, std::size_t first, std::size_t second) {
  if (first == second) return {Way::kSelf};
  const Device& a = machine.devices[first];
  const Device& b = machine.devices[second];
  const GpuLink link = link_between(machine, a, b);
  if (link.nvlinks > 0) return {Way::kNvLink, link.nvlinks};
  const bool described = !a.path.empty() && !b.path.empty();
  if (!described && link.told) return {*link.told};
  return {described ? by_pci(machine, a, b) : between_host_bridges(machine, a, b)};
}

}  // namespace ddprun
