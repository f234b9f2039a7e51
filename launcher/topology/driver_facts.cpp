#include "launcher/topology/driver_facts.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "launcher/topology/machine.hpp"

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

namespace {

/// Takes the next word off a line.
std::string word_of(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  std::string word{line.substr(0, end)};
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// Returns false for a line that makes no sense.
bool read_line(std::string_view line, DriverFacts& facts) {
  const std::string what = word_of(line);
  const std::string bus_id = word_of(line);
  if (what == "gpu") {
    const auto links = parse_number<int>(word_of(line));
    std::string model{line};
    std::ranges::replace(model, '\t', ' ');  // it stands in tables
    facts.gpus.push_back({bus_id, std::move(model), links.value_or(0), {}});
    return links.has_value();
  }
  const std::string other = word_of(line);
  if (what == "peer") {
    const auto gpu = std::ranges::find(facts.gpus, bus_id, &DriverGpu::bus_id);
    if (gpu == facts.gpus.end()) return false;
    gpu->peers.push_back(other);
    return true;
  }
  const auto way = parse_way(word_of(line));
  if (what != "way" || !way) return false;
  facts.ways[gpu_pair(bus_id, other)] = *way;
  return true;
}

Error told_error(std::string_view line) {
  constexpr int kLast = static_cast<int>(Error::Kind::kDenied);
  const int kind = parse_number<int>(word_of(line)).value_or(0);
  return {static_cast<Error::Kind>(std::clamp(kind, 0, kLast)), std::string{line}};
}

}  // namespace

std::string to_text(const Result<DriverFacts>& facts) {
  if (!facts)
    return "failed " + std::to_string(static_cast<int>(facts.error().kind)) + " " +
           plain_line(facts.error().message) + "\n";
  std::string text;
  for (const DriverGpu& gpu : facts->gpus) {
    text += "gpu " + gpu.bus_id + " " + std::to_string(gpu.links_to_switches) + " " +
            plain_line(gpu.model) + "\n";
    for (const std::string& peer : gpu.peers) text += "peer " + gpu.bus_id + " " + peer + "\n";
  }
  for (const auto& [pair, way] : facts->ways)
    text += "way " + pair.first + " " + pair.second + " " + to_string(Nearness{way}) + "\n";
  return text + "end\n";
}

Result<DriverFacts> parse_driver_facts(std::string_view text) {
  const Error not_whole{Error::Kind::kUnavailable, "the process that asked it has crashed"};
  DriverFacts facts;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1)) {
    const std::string_view line = text.substr(0, end);
    if (line == "end") return facts;
    if (line.starts_with("failed ")) return told_error(line.substr(7));
    if (!read_line(line, facts)) return not_whole;
  }
  return not_whole;
}

}  // namespace ddprun
